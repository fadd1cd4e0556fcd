// The WebAssembly of the page: a load in, its history out.

/** Instantiates the module. Returns a function from a load's text and a rule to its history. */
export const instantiate = async (bytes) => {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, room, answer, answer_at } = instance.exports;
  return (load, rule = "shipped") => {
    const request = new TextEncoder().encode(JSON.stringify({ load, rule }));
    const at = room(request.length);
    // The memory may have grown, so its buffer is read after each call.
    new Uint8Array(memory.buffer).set(request, at);
    const length = answer();
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, answer_at(), length));
    const { history, error } = JSON.parse(text);
    if (error !== undefined) throw new Error(error);
    return history;
  };
};
