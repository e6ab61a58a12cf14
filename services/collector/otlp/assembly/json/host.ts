/** The work of the host: it raises errors, and converts what is rare. */

/** Raises the error for a body that is not JSON; never returns. */
export declare function invalidJson(): void

/** Raises the error for a value that its field cannot have; never returns. */
export declare function wrongValue(problem: u32): void

/** The double that the JSON number in [from, end) is. */
export declare function parseNumber(from: usize, end: usize): f64

/** The double that the text in [from, end) is for a `doubleValue`; NaN also when it is none. */
export declare function parseDouble(from: usize, end: usize): f64

/**
 * Decodes the base64 between the quotes of a JSON string, in [from, end), to `to`; returns where it
 * ends.
 */
export declare function writeDecoded(from: usize, end: usize, to: usize): usize

/** The same for an id of `size` bytes. Returns false, and writes nothing, when it is none. */
export declare function writeDecodedId(from: usize, end: usize, to: usize, size: usize): bool

/**
 * Puts U+FFFD in the place of what is not UTF-8 in [from, end), which may become three times as
 * long; returns where it ends.
 */
export declare function repair(from: usize, end: usize): usize
