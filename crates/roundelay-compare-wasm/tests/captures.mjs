// Captures for the tests of the compare page, the same in every run: pcap and pcapng, several link types,
// with overload, light load, duplicates, directions, odd times and cuts.

/** Numbers below 2^32 from a seed (Steele and Vigna's SplitMix, 32 bits of 64). */
export const random = (seed) => {
  let state = BigInt(seed);
  const next = () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let word = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    word = BigInt.asUintN(64, (word ^ (word >> 27n)) * 0x94d049bb133111ebn);
    return Number((word ^ (word >> 31n)) >> 32n & 0xffffffffn);
  };
  return (below) => next() % below;
};

const bytes = (length, write) => {
  const buffer = Buffer.alloc(length);
  write(buffer);
  return buffer;
};

/** Headers of an IP packet of `length` bytes: ports, protocol and code point of its flow. */
const ip = (flow, length, identification) => {
  const transport = bytes(flow.protocol === 6 ? 20 : 8, (to) => {
    to.writeUInt16BE(flow.source, 0);
    to.writeUInt16BE(flow.destination, 2);
    if (flow.protocol === 17) to.writeUInt16BE(Math.max(8, length - (flow.six ? 40 : 20)), 4);
    else to[12] = 0x50;
  });
  if (flow.six) {
    const header = bytes(40, (to) => {
      to.writeUInt32BE(0x60000000 + flow.dscp * 2 ** 22, 0);
      to.writeUInt16BE(length - 40, 4);
      to[6] = flow.protocol;
      to[7] = 64;
      to.write("2001", 8, "hex");
      to.write("2001", 24, "hex");
      to[23] = flow.host;
      to[39] = 1;
    });
    return Buffer.concat([header, transport, Buffer.from([identification & 255, identification >> 8])]);
  }
  const header = bytes(20, (to) => {
    to[0] = 0x45;
    to[1] = flow.dscp * 4;
    to.writeUInt16BE(length, 2);
    to.writeUInt16BE(identification & 0xffff, 4);
    to[8] = 64;
    to[9] = flow.protocol;
    to.set([10, 0, 0, flow.host, 192, 0, 2, 1], 12);
  });
  return Buffer.concat([header, transport]);
};

const ETHERNET = (flow) => Buffer.from(`020000000001020000000002${flow.vlan ? "8100000a" : ""}${flow.six ? "86dd" : "0800"}`, "hex");

/** Packets of `flows` flows over `micros` microseconds: heavy flows with packets of `longest` bytes, light and bursty flows. */
export const packets = (seed, { flows = 20, count = 3000, micros = 3_000_000, six = false, vlan = false, longest = 1500 } = {}) => {
  const pick = random(seed);
  const all = Array.from({ length: flows }, (_, number) => ({
    host: 1 + number % 200, source: 1024 + number, destination: [443, 53, 5004, 80][number % 4], protocol: number % 3 ? 17 : 6,
    dscp: [0, 0, 46, 8, 34][number % 5], six: six && number % 2 === 1, vlan: vlan && number % 7 === 0, heavy: number % 5 === 0,
  }));
  return Array.from({ length: count }, (_, number) => {
    const flow = all[pick(10) < 7 ? pick(Math.ceil(flows / 5)) * 5 % flows : pick(flows)];
    const length = flow.heavy ? longest : 60 + pick(400);
    return { at: Math.floor(number * micros / count) + pick(50), length, flow, headers: ip(flow, length, number + 1) };
  });
};

/** A pcap file: `link` is 1 for Ethernet, 101 for raw IP, 276 for Linux cooked. */
export const pcap = (list, { link = 1, nanos = false, big = false, start = 1_700_000_000 } = {}) => {
  const word = (...numbers) => bytes(4 * numbers.length, (to) => numbers.forEach((number, place) => (big ? to.writeUInt32BE(number, 4 * place) : to.writeUInt32LE(number, 4 * place))));
  const version = bytes(4, (to) => { for (const [number, at] of [[2, 0], [4, 2]]) if (big) to.writeUInt16BE(number, at); else to.writeUInt16LE(number, at); });
  const records = list.flatMap(({ at, length, flow, headers }) => {
    const before = link === 1 ? ETHERNET(flow) : link === 276 ? bytes(20, (to) => { to.writeUInt16BE(flow.six ? 0x86dd : 0x0800, 0); to.writeUInt32BE(2, 4); to[10] = flow.host % 2 ? 4 : 0; }) : Buffer.alloc(0);
    const data = Buffer.concat([before, headers]);
    return [word(start + Math.floor(at / 1e6), at % 1e6 * (nanos ? 1000 : 1), data.length, length + before.length), data];
  });
  return Buffer.concat([word(nanos ? 0xa1b23c4d : 0xa1b2c3d4), version, word(0, 0, 65535, link), ...records]);
};

/** A pcapng file with two interfaces, "lan" and "wan": a packet in `twice` is captured at both, with directions. */
export const pcapng = (list, { twice = () => false } = {}) => {
  const block = (type, body) => {
    const padded = Buffer.concat([body, Buffer.alloc((4 - body.length % 4) % 4)]);
    const frame = bytes(8, (to) => { to.writeUInt32LE(type, 0); to.writeUInt32LE(padded.length + 12, 4); });
    return Buffer.concat([frame, padded, frame.subarray(4)]);
  };
  const option = (code, value) => {
    const head = bytes(4, (to) => { to.writeUInt16LE(code, 0); to.writeUInt16LE(value.length, 2); });
    return Buffer.concat([head, value, Buffer.alloc((4 - value.length % 4) % 4)]);
  };
  const section = bytes(16, (to) => { to.writeUInt32LE(0x1a2b3c4d, 0); to.writeUInt16LE(1, 4); to.writeBigInt64LE(-1n, 8); });
  const port = (name) => block(1, Buffer.concat([bytes(8, (to) => { to.writeUInt16LE(1, 0); to.writeUInt32LE(0, 4); }), option(2, Buffer.from(name)), Buffer.alloc(4)]));
  const packet = ({ at, length, flow, headers }, number, heading) => {
    const data = Buffer.concat([ETHERNET(flow), headers]);
    const time = 1_700_000_000n * 1_000_000n + BigInt(at);
    const head = bytes(20, (to) => [number, Number(time >> 32n), Number(time & 0xffffffffn), data.length, length + 14].forEach((word, place) => to.writeUInt32LE(word, 4 * place)));
    const flags = option(2, bytes(4, (to) => to.writeUInt32LE(heading, 0)));
    return block(6, Buffer.concat([head, data, Buffer.alloc((4 - data.length % 4) % 4), flags, Buffer.alloc(4)]));
  };
  const records = list.flatMap((each, number) => (twice(number) ? [packet(each, 0, 1), packet(each, 1, 2)] : [packet(each, 1, 2)]));
  return Buffer.concat([block(0x0a0d0d0a, section), port("lan"), port("wan"), ...records]);
};
