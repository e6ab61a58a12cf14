/**
 * The numbers that decide what becomes of a span. `npm run assemble` writes them to
 * `assembly/constants.ts`.
 */

/** Attributes of a span beyond these are dropped and counted as such. */
export const MAX_ATTRIBUTES = 1024
/** Events of a span, and links, beyond these are dropped and counted as such. */
export const MAX_ITEMS = 1024
/** Longer strings, in bytes, are cut and marked: one attribute must not carry a file. */
export const MAX_STRING_BYTES = 256 * 1024
/** Deeper values are refused: JSON parsers recurse, ours and the database's. */
export const MAX_DEPTH = 32
/**
 * Larger values, by their bytes on the wire, go to the payload: the jsonb parser would spend most
 * of its time on prompts that nobody filters by.
 */
export const SMALL_VALUE_BYTES = 256
/** Longer texts of a body in JSON are not copied into its protobuf: above `MAX_COLUMN_BYTES`. */
export const MIN_JSON_TEXT_BYTES = 1024
/** Longer texts stay among the attributes only: a promoted column must fit an index entry. */
export const MAX_COLUMN_BYTES = 512
/** The largest value of a column of type int2. */
export const MAX_INT2 = 32_767
/** Doubles hold all whole numbers up to here. */
export const MAX_SAFE_INTEGER = Number.MAX_SAFE_INTEGER
/** PostgreSQL counts time from 2000, OTLP from 1970: the microseconds between the two. */
export const POSTGRES_EPOCH_US = 946_684_800_000_000
/** The first byte of a jsonb value in COPY BINARY. */
export const JSONB_VERSION = 1
/** Bytes of a trace id. */
export const TRACE_ID_BYTES = 16
/** Bytes of a span id. */
export const SPAN_ID_BYTES = 8
/** Promoted columns that there may be. */
export const MAX_PROMOTED_COLUMNS = 64
/** Keys of all promoted columns together: a byte counts them. */
export const MAX_PROMOTED_KEYS = 255
/** Bytes of the keys, words and names of all conventions. */
export const MAX_TABLE_TEXT_BYTES = 8192
/** Words that name a kind, and the bytes of the longest. */
export const MAX_KIND_WORDS = 127
/** Longer words name no kind. */
export const MAX_WORD_BYTES = 40
/** Scopes whose spans have a kind by their name, and these names together. */
export const MAX_KIND_SCOPES = 31
/** Names of all these scopes. */
export const MAX_KIND_NAMES = 63
/** Longer JSON texts are not looked into for numbers. */
export const MAX_DOCUMENT_BYTES = 64 * 1024
/** Characters of an organization, which may take four bytes each. */
export { MAX_ORGANIZATION_CHARS } from '../../shared/organization-name.ts'
/** Expressions that are looked for to redact what they match, and their items and classes. */
export const MAX_REDACTION_ENTRIES = 128
export const MAX_REDACTION_ITEMS = 1024
export const MAX_REDACTION_CLASSES = 128
/** Bytes of a mark such as `[redacted:email:3f9a1c]`. */
export const MAX_MARK_BYTES = 64
/** Which function of the transcoder says whether an expression matches; 0 is its items alone. */
export const MATCHER_CARD = 1
export const MATCHER_IBAN = 2
export const MATCHER_EMAIL = 3
export const MATCHER_PRIVATE_KEY = 4
/** Fields of all messages in JSON, and these messages. */
export const MAX_JSON_FIELDS = 96
export const MAX_JSON_MESSAGES = 16
