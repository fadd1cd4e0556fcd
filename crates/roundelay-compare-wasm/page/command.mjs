// The command that does the same as a request of the compare page: `roundelay compare` and its words.

/** Options with a text as their value: names of the fields of the page, too. */
export const OPTIONS = [
  "rate", "link", "overhead", "mpu", "framing", "buffer", "filter", "interface", "direction", "from", "to", "busiest", "mtu", "flow_by", "max_flows", "seed", "seeds",
];

/** The words of a request on the command line, without the program's name. Negative numbers need the equals sign. */
export const words = (request) => {
  const option = (name) => (request[name] ? [`--${name.replaceAll("_", "-")}=${request[name]}`] : []);
  return [
    "compare", request.name, ...(request.disciplines ?? []),
    ...OPTIONS.flatMap(option),
    ...(request.weight ?? []).map((rule) => `--weight=${rule}`),
    ...(request.weights ? [`--weights=${request.weights.name}`] : []),
    ...(request.trees ?? []).map(({ name }) => `--tree=${name}`),
    ...(request.keep_duplicates ? ["--keep-duplicates"] : []),
    ...(request.mirrored ? ["--mirrored"] : []),
    ...(request.wide ? ["--wide"] : []),
    "--no-cost",
  ];
};

/** A word as a shell reads it. */
const quoted = (word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The line to type. A file's name that starts with a hyphen would be an option. */
export const command = (request) => {
  const name = request.name.startsWith("-") ? `./${request.name}` : request.name;
  return ["roundelay", ...words({ ...request, name })].map(quoted).join(" ");
};
