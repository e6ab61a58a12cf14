/** Reasons to refuse a single span, while its neighbours are kept. */
export const REFUSALS = [
  'invalid_trace_id',
  'invalid_span_id',
  'invalid_parent_span_id',
  'invalid_kind',
  'invalid_status',
  'missing_start_time',
  'too_old',
  'too_far_in_future',
  'too_deep',
] as const

/** One of `REFUSALS`. */
export type Refusal = (typeof REFUSALS)[number]

/** Reasons to refuse a whole body: it is not the protobuf message that it should be. */
export const MALFORMATIONS = {
  varint_too_long: 'a varint has more than ten bytes',
  field_too_long: 'a field is longer than the message around it',
  number_cut_off: 'a number is cut off',
  wrong_end: 'a message does not end where its length says',
  // Requests for logs and metrics have the same outer structure: they read as spans without ids.
  no_trace_ids: 'none of its spans has a trace id; is it a request for logs or metrics',
  wire_type_3: 'wire type 3 is not in use',
  wire_type_4: 'wire type 4 is not in use',
  wire_type_6: 'wire type 6 is not in use',
  wire_type_7: 'wire type 7 is not in use',
} as const

/** Reasons to refuse a whole body in JSON: a field cannot have the value that is given. */
export const JSON_PROBLEMS = {
  json_not_an_object: 'must be an object',
  json_not_an_array: 'must be an array',
  json_not_a_string: 'must be a string',
  json_not_a_boolean: 'must be true or false',
  json_not_a_number: 'must be a number',
  json_not_whole: 'must be a whole number',
  json_not_64_bits: 'does not fit 64 bits',
  json_not_32_bits: 'does not fit 32 bits',
} as const
