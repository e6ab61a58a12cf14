/** What the host does: rare, or better done there. */

/** Whether the bytes in [from, end) are valid UTF-8. */
export declare function isUtf8(from: usize, end: usize): bool

/** Whether the text in [from, end) names an operation that is a call of a model. */
export declare function isLlmOperation(from: usize, end: usize): bool

/** Writes a number as JSON has it to `to`, in at most 32 bytes; answers where it ends. */
export declare function writeDouble(value: f64, to: usize): usize
