// The worker of the compare page: compares while the page stays alive. Messages in: the module's bytes,
// then a request with its file, "report" or "figures". Messages out: `ready`, `read` (bytes so far), and `answer`,
// `report` or `figures`, or `failed`.

import { instantiate } from "./core.mjs";

/** Bytes of the file read at once. */
const PART = 1 << 22;

/** Reads a file from its start, synchronously; only workers may. */
const fileReader = (file, progress) => {
  const files = new FileReaderSync();
  let [part, at, next] = [new Uint8Array(0), 0, 0];
  return (into) => {
    if (at === part.length && next < file.size) {
      part = new Uint8Array(files.readAsArrayBuffer(file.slice(next, next + PART)));
      at = 0;
      next += part.length;
      progress(next);
    }
    const some = part.subarray(at, at + into.length);
    into.set(some);
    at += some.length;
    return some.length;
  };
};

/** Starts to answer messages. */
export const serve = () => {
  let run = null;
  onmessage = async ({ data }) => {
    try {
      if (data.module) {
        run = await instantiate(data.module);
        postMessage({ ready: true });
      } else if (data.request) {
        postMessage({ answer: run.compare(data.request, fileReader(data.file, (bytes) => postMessage({ read: bytes }))) });
        postMessage({ report: run.report() });
      } else {
        postMessage({ figures: run.figures() });
      }
    } catch (error) {
      postMessage({ failed: String(error?.message ?? error) });
    }
  };
};
