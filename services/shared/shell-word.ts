/** One word of a POSIX shell, whatever the text. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
