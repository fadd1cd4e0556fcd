// Writes a capture of packets between so many networks that nothing tells which of them shared a link: the page of `compare` asks.
//
// node tests/browser/question.mjs capture.pcap

import { writeFileSync } from "node:fs";

const RAW_IP = 101;
const UDP = 17;
const PAYLOAD = 400;

const packet = (number, [source, from], [destination, to]) => {
  const bytes = Buffer.alloc(28 + PAYLOAD);
  bytes.writeUInt8(0x45, 0);
  bytes.writeUInt16BE(bytes.length, 2);
  bytes.writeUInt16BE(number, 4);
  bytes.writeUInt8(64, 8);
  bytes.writeUInt8(UDP, 9);
  bytes.set([...source, ...destination], 12);
  bytes.writeUInt16BE(from, 20);
  bytes.writeUInt16BE(to, 22);
  bytes.writeUInt16BE(8 + PAYLOAD, 24);
  return bytes;
};

const packets = [];
for (let number = 1; number <= 84; number += 1) packets.push(packet(number, [[100 + number, 1, 1, 1], 5000], [[20 + number, 2, 2, 2], 4000]));
// Two hosts that send each other packets.
const one = [[192, 168, 1, 20], 5000];
const other = [[198, 51, 100, 7], 443];
for (let number = 100; number < 108; number += 1) packets.push(packet(number, one, other), packet(number + 100, other, one));

const head = Buffer.alloc(24);
head.writeUInt32LE(0xa1b2c3d4, 0);
head.writeUInt16LE(2, 4);
head.writeUInt16LE(4, 6);
head.writeUInt32LE(65535, 16);
head.writeUInt32LE(RAW_IP, 20);
const records = packets.flatMap((bytes, place) => {
  const record = Buffer.alloc(16);
  record.writeUInt32LE(1_700_000_000, 0);
  record.writeUInt32LE(1000 * place, 4);
  record.writeUInt32LE(bytes.length, 8);
  record.writeUInt32LE(bytes.length, 12);
  return [record, bytes];
});
writeFileSync(process.argv[2], Buffer.concat([head, ...records]));
