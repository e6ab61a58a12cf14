import { closed, integer, list, moment, text } from './parts.ts'

const meta = { type: 'object', additionalProperties: true }

/** The schemas of the tools index; those of its pages are of PEP 691 and PEP 700. */
export const TOOL_SCHEMAS = {
  Upload: closed({
    status: { ...text, description: 'Whether the file is new or was there already.' },
  }),
  UploadRequest: {
    type: 'object',
    description: 'The upload API of PyPI, as twine speaks it; other fields are not read.',
    required: [':action', 'name', 'version', 'sha256_digest', 'content'],
    properties: {
      ':action': { ...text, const: 'file_upload' },
      name: text,
      version: text,
      sha256_digest: text,
      requires_python: text,
      content: { ...text, format: 'binary', description: 'A wheel or a source archive.' },
    },
  },
  YankRequest: {
    type: 'object',
    additionalProperties: false,
    properties: { reason: { ...text, maxLength: 200, description: 'One line.' } },
  },
  SimpleNames: {
    type: 'object',
    required: ['meta', 'projects'],
    properties: {
      meta,
      projects: list({ type: 'object', required: ['name'], properties: { name: text } }),
    },
  },
  SimpleFiles: {
    type: 'object',
    required: ['meta', 'name', 'versions', 'files'],
    properties: {
      meta,
      name: text,
      versions: list(text),
      files: list({
        type: 'object',
        required: ['filename', 'url', 'hashes', 'yanked', 'size', 'upload-time'],
        properties: {
          filename: text,
          url: text,
          hashes: { type: 'object', additionalProperties: text },
          'requires-python': text,
          yanked: { description: 'False, true, or the reason.', type: ['boolean', 'string'] },
          size: integer,
          'upload-time': moment,
        },
      }),
    },
  },
}
