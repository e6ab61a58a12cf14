/** The most that is read of one document. */
export const DOCUMENT_LIMITS = {
  /** Pages of a PDF, sheets of a workbook, slides of a presentation. */
  pages: 2000,
  /** Characters of its text. */
  characters: 4_000_000,
  /** Bytes that its parts have once they are unpacked. */
  unpackedBytes: 128 * 1024 * 1024,
  /** Parts of its archive. */
  parts: 20_000,
  /** The time that its process has. */
  timeoutMs: 60_000,
  /** The memory that its process has, in bytes. */
  memoryBytes: 256 * 1024 * 1024,
} as const
