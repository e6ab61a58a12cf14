import { AppError } from '../../../shared/errors.ts'

/** The most files of a source. */
export const SOURCE_FILES_MAX = 20_000
/** The most bytes of all files of a source. */
export const UNPACKED_BYTES_MAX = 256 * 1024 * 1024
/** Of an archive so many entries are looked at, those included that are left out. */
export const ENTRIES_MAX = 100_000

const ADVICE =
  'Leave out what is made from other files, such as .venv and node_modules, and what the crew ' +
  'does not need, such as data.'

/** Creates the error of an archive with too many entries. */
export const tooManyFiles = (): AppError =>
  new AppError(
    'payload_too_large',
    `A source has at most ${SOURCE_FILES_MAX} files; this archive has more. ${ADVICE}`,
    { details: { max_files: SOURCE_FILES_MAX } },
  )

/** Creates the error of an archive that is too large once it is unpacked. */
export const tooManyBytes = (): AppError =>
  new AppError(
    'payload_too_large',
    `The files of a source have at most ${UNPACKED_BYTES_MAX} bytes together; those of this ` +
      `archive have more. ${ADVICE}`,
    { details: { max_bytes: UNPACKED_BYTES_MAX } },
  )
