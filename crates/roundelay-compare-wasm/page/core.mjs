// The WebAssembly of the compare page: arguments and a capture in, text, report and figures out.

/** Instantiates the module. `read` copies the next bytes of the capture into an array and returns their number. */
export const instantiate = async (bytes) => {
  let source = null;
  const read = (at, length) => {
    try {
      return source(new Uint8Array(memory.buffer, at, length));
    } catch {
      return -1;
    }
  };
  const { instance } = await WebAssembly.instantiate(bytes, { capture: { read } });
  const { memory, room, answer, report, figures, disciplines, answer_at: answerAt } = instance.exports;
  // The memory may have grown, so its buffer is read after each call.
  const text = (length) => new TextDecoder().decode(new Uint8Array(memory.buffer, answerAt(), length));
  return {
    /** The answer to a request: `text` and `broken`, or `error`. */
    compare: (request, read) => {
      source = read;
      const given = new TextEncoder().encode(JSON.stringify(request));
      const at = room(given.length);
      new Uint8Array(memory.buffer).set(given, at);
      return JSON.parse(text(answer()));
    },
    report: () => text(report()),
    figures: () => text(figures()),
    /** Names and sentences of `all` disciplines, and the names compared by `default`. */
    disciplines: () => JSON.parse(text(disciplines())),
  };
};

/** Reads an array from its start. */
export const reader = (bytes) => {
  let at = 0;
  return (into) => {
    const part = bytes.subarray(at, at + into.length);
    into.set(part);
    at += part.length;
    return part.length;
  };
};
