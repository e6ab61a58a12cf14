/** The work of the host: it owns the memory, raises errors, and converts what is rare. */

/** Moves the rows, of which `used` bytes are written, to where `size` more have room. */
export declare function enlarge(used: usize, size: usize): void

/** Notes the `count` rows whose offsets and start times lie in `notedOffsets` and `notedStarts`. */
export declare function noteRows(count: u32): void

/** Notes that a span is refused, and why. */
export declare function noteRefusal(reason: u32): void

/**
 * Takes the JSON in [from, end) as the resource, or scope, of the next spans, and stores its id.
 */
export declare function takeResource(from: usize, end: usize): void
/** The same for the scope. */
export declare function takeScope(from: usize, end: usize): void

/** Notes that rows refer to the resource, or scope, that was taken last. */
export declare function keepResource(): void
/** The same for the scope. */
export declare function keepScope(): void

/** Raises the error for a body that is no such message; never returns. */
export declare function malformed(problem: u32): void

/** True when the bytes in [from, end) are valid UTF-8. */
export declare function isUtf8(from: usize, end: usize): bool

/**
 * Reads the JSON in [from, end), the document of this number, and sets the numbers that it has for
 * promoted columns. It may lie there as the content of a string of JSON.
 */
export declare function readDocument(
  document: u32,
  from: usize,
  end: usize,
  isEscaped: bool,
): void

/** The number that the text in [from, end) is; NaN when it is none. */
export declare function parseNumber(from: usize, end: usize): f64

/** Writes a number as JSON has it to `to`, in at most 32 bytes; returns where it ends. */
export declare function writeDouble(value: f64, to: usize): usize

/**
 * Writes the text in [from, end) to `to` as UTF-8, with U+FFFD for what no text of PostgreSQL can
 * hold, in at most three times its size; returns where it ends.
 */
export declare function writeRepaired(from: usize, end: usize, to: usize): usize

/** The same with the escapes of JSON, in at most six times its size. */
export declare function writeRepairedJson(from: usize, end: usize, to: usize): usize

/** Writes the bytes in [from, end) to `to` as base64; returns where it ends. */
export declare function writeBase64(from: usize, end: usize, to: usize): usize

/**
 * Writes the mark for the secret of a kind in [from, end) to `to`, in at most `MAX_MARK_BYTES`, and
 * counts it; returns where it ends.
 */
export declare function writeMark(to: usize, kind: u32, from: usize, end: usize): usize
