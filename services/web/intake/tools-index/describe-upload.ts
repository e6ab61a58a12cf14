import {
  canonicalVersion,
  isToolName,
  isVersionSpecifier,
  normalizeToolName,
  parseToolFilename,
} from '../../../platform/tools/python-packages.ts'
import type { ToolDescription } from '../../../platform/tools/tool-uploads.ts'
import { AppError } from '../../../shared/errors.ts'
import type { UploadFields } from './upload-form.ts'

/** Reads the description of an uploaded file. Raises `unprocessable` with all mistakes. */
export function describeUpload(fields: UploadFields, filename: string): ToolDescription {
  const field = (name: string): string => fields.get(name)?.trim() ?? ''
  const [name, version] = [field('name'), field('version')]
  const requiresPython = field('requires_python') || null
  const sha256 = field('sha256_digest').toLowerCase()
  const problems = [
    field(':action') === 'file_upload' ? '' : ':action must be file_upload',
    isToolName(name) ? '' : 'name must be the name of a Python package',
    canonicalVersion(version) === undefined ? 'version must be a version as PEP 440 has it' : '',
    filenameProblem(filename, { name, version }),
    /^[0-9a-f]{64}$/.test(sha256) ? '' : 'sha256_digest must have 64 hexadecimal digits',
    requiresPython === null || isVersionSpecifier(requiresPython)
      ? ''
      : 'requires_python must be a version specifier such as >=3.10',
  ].filter(Boolean)
  if (problems.length > 0) {
    throw new AppError('unprocessable', `The upload is not valid: ${problems.join('; ')}.`, {
      details: { problems },
    })
  }
  return { name, version, filename, requiresPython, sha256: Buffer.from(sha256, 'hex') }
}

function filenameProblem(filename: string, told: { name: string; version: string }): string {
  const parsed = parseToolFilename(filename)
  if (!parsed) return 'the file must be a wheel (.whl) or a source archive (.tar.gz, .zip)'
  const isSame =
    normalizeToolName(parsed.name) === normalizeToolName(told.name) &&
    canonicalVersion(parsed.version.replaceAll('_', '-')) === canonicalVersion(told.version)
  return isSame ? '' : 'the name of the file must be that of the package and the version'
}
