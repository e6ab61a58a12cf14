import * as v from 'valibot'

/** The capability of a crew that takes the files of a run with its kickoff. */
export const FILES_CAPABILITY = 'files'

const kickoffFile = v.pipe(
  v.object({
    name: v.string('must be a text'),
    media_type: v.string('must be a text'),
    size: v.pipe(v.number(), v.integer(), v.minValue(1)),
    content_base64: v.string('must be a text'),
  }),
  // No pattern: one that matches 28 MB takes more stack than there is.
  v.check(
    ({ size, content_base64: content }) => Buffer.byteLength(content, 'base64') === size,
    'must have the size that it says',
  ),
)
/** A file of a run, with its content. */
export type KickoffFile = v.InferOutput<typeof kickoffFile>

/** The files that the inputs of a run name, by their ids. */
export const kickoffFiles = v.record(v.string(), kickoffFile)
/** The files that the inputs of a run name, by their ids. */
export type KickoffFiles = v.InferOutput<typeof kickoffFiles>
