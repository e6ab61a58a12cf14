import { describing, describedBody } from '../../api/openapi/operation.ts'
import * as s from '../../api/openapi/parts.ts'

/** An object of these properties, of which most are required, and others allowed. */
const open = (properties: object, optional?: string) => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => name !== optional),
  properties,
})
const upload = s.document('Upload', {
  status: s.say(s.text, 'Whether the file is new or was there already.'),
})
const uploadFields = {
  ':action': { ...s.text, const: 'file_upload' },
  name: s.text,
  version: s.text,
  sha256_digest: s.text,
  requires_python: s.text,
  content: s.say(s.file.schema, 'A wheel or a source archive.'),
}
const uploadRequest = s.named('UploadRequest', {
  ...open(uploadFields, 'requires_python'),
  description: 'The upload API of PyPI, as twine speaks it; other fields are not read.',
})
const reason = { ...s.text, maxLength: 200, description: 'One line.' }
const yankBody = describedBody(s.named('YankRequest', s.perhaps({ reason })), {
  example: { reason: 'broken on Python 3.13' },
  bytesMax: 4096,
})

const meta = { type: 'object', additionalProperties: true }
// As PEP 691 and PEP 700 have them.
const names = s.named('SimpleNames', open({ meta, projects: s.list(open({ name: s.text })) }))
const fileFields = {
  filename: s.text,
  url: s.text,
  hashes: { type: 'object', additionalProperties: s.text },
  'requires-python': s.text,
  yanked: { description: 'False, true, or the reason.', type: ['boolean', 'string'] },
  size: s.integer,
  'upload-time': s.moment,
}
const files = s.named(
  'SimpleFiles',
  open({
    meta,
    name: s.text,
    versions: s.list(s.text),
    files: s.list(open(fileFields, 'requires-python')),
  }),
)
const indexOf = (schema: object) => ({
  description: 'HTML (PEP 503) or, if it is asked for, JSON (PEP 691).',
  headers: { Vary: s.header('Accept') },
  content: {
    'text/html': { schema: s.text },
    'application/vnd.pypi.simple.v1+html': { schema: s.text },
    'application/vnd.pypi.simple.v1+json': { schema },
  },
})
const MOVED = {
  description: 'At the address with a slash at its end, and the name as PEP 503 has it.',
  headers: { Location: s.header('That address.') },
}
const FILE = { description: 'Its bytes.', content: { 'application/octet-stream': s.file } }

const UNAVAILABLE = { 503: 'The database is unavailable. Try again.' }
const REFUSED = {
  ...s.refusedTokens('No token of the whole organization.'),
  403: 'The token lacks the scope `upload`, or `read` for what is only read.',
  ...UNAVAILABLE,
}
const NONE = { 404: 'There is no such tool or file.' }
const security = [{ bearer: [] }, { basic: [] }]

/** Describes the operations on an index of tools: the public one, or that of an organization. */
export function toolOperations({ isPublic }: { readonly isPublic: boolean }) {
  const of = isPublic ? 'Public' : 'Organization'
  const reading = describing({
    tag: 'Tools',
    security: isPublic ? [] : security,
    ...(isPublic ? UNAVAILABLE : REFUSED),
  })
  const writing = describing({
    tag: 'Tools',
    security,
    ...REFUSED,
    ...NONE,
    403:
      'The token lacks the scope `upload`, or is not of the internal organization, which alone ' +
      'uploads public tools.',
  })
  const uploading = (operationId: string) =>
    writing(operationId, 'Upload a package, as twine does', {
      body: { content: { 'multipart/form-data': { schema: uploadRequest } } },
      200: ['It is there.', upload],
      400: 'The form cannot be read.',
      404: 'The public repository is not provisioned.',
      409: 'There is another file of that name.',
      413: 'The file is larger than 64 MiB.',
      415: 'Not multipart/form-data.',
      422: 'The package is not valid; details.problems has each problem.',
      503: 'Too many uploads are in progress, or the database is unavailable.',
    })
  return {
    findTools: reading(`findTools${of}`, 'The names of all tools', { 301: MOVED }),
    listTools: reading(`listTools${of}`, 'The names of all tools', {
      200: indexOf(names),
      ...(isPublic ? NONE : {}),
    }),
    findTool: reading(`findTool${of}`, 'The files of a tool', { 301: MOVED }),
    listFiles: reading(`listFiles${of}`, 'The files of a tool', {
      200: indexOf(files),
      301: MOVED,
      ...NONE,
    }),
    download: reading(`download${of}`, 'A file', { 200: FILE, ...NONE }),
    downloadUpstream: reading(
      'downloadUpstream',
      'A file of the public index, as a page of a tool names it',
      { 200: FILE, ...NONE, 502: 'The public index cannot be used.' },
    ),
    upload: uploading(`upload${of}`),
    uploadTo: uploading(`uploadTo${of}`),
    yank: writing(`yank${of}`, 'Yank a file (PEP 592)', { body: yankBody, 204: 'It is done.' }),
    unyank: writing(`unyank${of}`, 'Take a yank back', { 204: 'It is done.' }),
  }
}
