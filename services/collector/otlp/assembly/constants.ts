/** Written by `npm run assemble`: never edited. */

// tags.ts: how fields lie on the wire.
export const TYPE_VARINT: u32 = 0
export const TYPE_FIXED64: u32 = 1
export const TYPE_BYTES: u32 = 2
export const TYPE_FIXED32: u32 = 5

// tags.ts: fields by message.
export const REQUEST_RESOURCE_SPANS: u32 = 10
export const RESOURCE_SPANS_RESOURCE: u32 = 10
export const RESOURCE_SPANS_SCOPE_SPANS: u32 = 18
export const RESOURCE_SPANS_SCHEMA_URL: u32 = 26
export const SCOPE_SPANS_SCOPE: u32 = 10
export const SCOPE_SPANS_SPANS: u32 = 18
export const SCOPE_SPANS_SCHEMA_URL: u32 = 26
export const RESOURCE_ATTRIBUTES: u32 = 10
export const RESOURCE_DROPPED_ATTRIBUTES_COUNT: u32 = 16
export const SCOPE_NAME: u32 = 10
export const SCOPE_VERSION: u32 = 18
export const SCOPE_ATTRIBUTES: u32 = 26
export const SCOPE_DROPPED_ATTRIBUTES_COUNT: u32 = 32
export const SPAN_TRACE_ID: u32 = 10
export const SPAN_SPAN_ID: u32 = 18
export const SPAN_TRACE_STATE: u32 = 26
export const SPAN_PARENT_SPAN_ID: u32 = 34
export const SPAN_NAME: u32 = 42
export const SPAN_KIND: u32 = 48
export const SPAN_START_TIME_UNIX_NANO: u32 = 57
export const SPAN_END_TIME_UNIX_NANO: u32 = 65
export const SPAN_ATTRIBUTES: u32 = 74
export const SPAN_DROPPED_ATTRIBUTES_COUNT: u32 = 80
export const SPAN_EVENTS: u32 = 90
export const SPAN_DROPPED_EVENTS_COUNT: u32 = 96
export const SPAN_LINKS: u32 = 106
export const SPAN_DROPPED_LINKS_COUNT: u32 = 112
export const SPAN_STATUS: u32 = 122
export const SPAN_FLAGS: u32 = 133
export const STATUS_MESSAGE: u32 = 18
export const STATUS_CODE: u32 = 24
export const EVENT_TIME_UNIX_NANO: u32 = 9
export const EVENT_NAME: u32 = 18
export const EVENT_ATTRIBUTES: u32 = 26
export const EVENT_DROPPED_ATTRIBUTES_COUNT: u32 = 32
export const LINK_TRACE_ID: u32 = 10
export const LINK_SPAN_ID: u32 = 18
export const LINK_TRACE_STATE: u32 = 26
export const LINK_ATTRIBUTES: u32 = 34
export const LINK_DROPPED_ATTRIBUTES_COUNT: u32 = 40
export const LINK_FLAGS: u32 = 53
export const KEY_VALUE_KEY: u32 = 10
export const KEY_VALUE_VALUE: u32 = 18
export const ANY_VALUE_STRING_VALUE: u32 = 10
export const ANY_VALUE_BOOL_VALUE: u32 = 16
export const ANY_VALUE_INT_VALUE: u32 = 24
export const ANY_VALUE_DOUBLE_VALUE: u32 = 33
export const ANY_VALUE_ARRAY_VALUE: u32 = 42
export const ANY_VALUE_KVLIST_VALUE: u32 = 50
export const ANY_VALUE_BYTES_VALUE: u32 = 58
export const LIST_VALUES: u32 = 10
export const ANY_VALUE_JSON_TEXT: u32 = 122

// limits.ts.
export const JSONB_VERSION: u32 = 1
export const MATCHER_CARD: u32 = 1
export const MATCHER_EMAIL: u32 = 3
export const MATCHER_IBAN: u32 = 2
export const MATCHER_PRIVATE_KEY: u32 = 4
export const MAX_ATTRIBUTES: u32 = 1024
export const MAX_COLUMN_BYTES: u32 = 512
export const MAX_DEPTH: u32 = 32
export const MAX_DOCUMENT_BYTES: u32 = 65536
export const MAX_INT2: u32 = 32767
export const MAX_ITEMS: u32 = 1024
export const MAX_JSON_FIELDS: u32 = 96
export const MAX_JSON_MESSAGES: u32 = 16
export const MAX_KIND_NAMES: u32 = 63
export const MAX_KIND_SCOPES: u32 = 31
export const MAX_KIND_WORDS: u32 = 127
export const MAX_MARK_BYTES: u32 = 64
export const MAX_ORGANIZATION_CHARS: u32 = 64
export const MAX_PROMOTED_COLUMNS: u32 = 64
export const MAX_PROMOTED_KEYS: u32 = 255
export const MAX_REDACTION_CLASSES: u32 = 128
export const MAX_REDACTION_ENTRIES: u32 = 128
export const MAX_REDACTION_ITEMS: u32 = 1024
export const MAX_SAFE_INTEGER: u64 = 9007199254740991
export const MAX_STRING_BYTES: u32 = 262144
export const MAX_TABLE_TEXT_BYTES: u32 = 8192
export const MAX_WORD_BYTES: u32 = 40
export const MIN_JSON_TEXT_BYTES: u32 = 1024
export const POSTGRES_EPOCH_US: u64 = 946684800000000
export const SMALL_VALUE_BYTES: u32 = 256
export const SPAN_ID_BYTES: u32 = 8
export const TRACE_ID_BYTES: u32 = 16

// problems.ts: why a span is refused; 0 when it is not.
export const REFUSED_INVALID_TRACE_ID: u32 = 1
export const REFUSED_INVALID_SPAN_ID: u32 = 2
export const REFUSED_INVALID_PARENT_SPAN_ID: u32 = 3
export const REFUSED_INVALID_KIND: u32 = 4
export const REFUSED_INVALID_STATUS: u32 = 5
export const REFUSED_MISSING_START_TIME: u32 = 6
export const REFUSED_TOO_OLD: u32 = 7
export const REFUSED_TOO_FAR_IN_FUTURE: u32 = 8
export const REFUSED_TOO_DEEP: u32 = 9

// problems.ts: why a body is refused.
export const VARINT_TOO_LONG: u32 = 0
export const FIELD_TOO_LONG: u32 = 1
export const NUMBER_CUT_OFF: u32 = 2
export const WRONG_END: u32 = 3
export const NO_TRACE_IDS: u32 = 4
export const WIRE_TYPE_3: u32 = 5
export const WIRE_TYPE_4: u32 = 6
export const WIRE_TYPE_6: u32 = 7
export const WIRE_TYPE_7: u32 = 8

// problems.ts: why a value in JSON is; 0 when it is not.
export const JSON_NOT_AN_OBJECT: u32 = 1
export const JSON_NOT_AN_ARRAY: u32 = 2
export const JSON_NOT_A_STRING: u32 = 3
export const JSON_NOT_A_BOOLEAN: u32 = 4
export const JSON_NOT_A_NUMBER: u32 = 5
export const JSON_NOT_WHOLE: u32 = 6
export const JSON_NOT_64_BITS: u32 = 7
export const JSON_NOT_32_BITS: u32 = 8

// json-fields.ts: how fields are in JSON.
export const FORM_LIST: u32 = 1
export const FORM_MESSAGE: u32 = 2
export const FORM_NESTED: u32 = 3
export const FORM_TEXT: u32 = 4
export const FORM_GIVEN_TEXT: u32 = 5
export const FORM_BYTES: u32 = 6
export const FORM_ID: u32 = 7
export const FORM_BOOL: u32 = 8
export const FORM_UINT32: u32 = 9
export const FORM_FIXED32: u32 = 10
export const FORM_INT64: u32 = 11
export const FORM_TIME: u32 = 12
export const FORM_ENUM: u32 = 13
export const FORM_DOUBLE: u32 = 14

// json-fields.ts: the messages.
export const MESSAGE_REQUEST: u32 = 0
export const MESSAGE_RESOURCE_SPANS: u32 = 1
export const MESSAGE_SCOPE_SPANS: u32 = 2
export const MESSAGE_SPAN: u32 = 5
export const MESSAGE_LINK: u32 = 8
export const MESSAGE_KEY_VALUE: u32 = 9
export const MESSAGE_ANY_VALUE: u32 = 10
