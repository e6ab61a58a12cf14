import {
  body,
  header,
  json,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
  schema,
} from './parts.ts'

const name = parameter('name', 'path', { schema: { type: 'string' } })
const filename = parameter('filename', 'path', { schema: { type: 'string' } })
const sha256 = parameter('sha256', 'path', { schema: { type: 'string' } })
const UNAVAILABLE = { '503': problem('The database is unavailable. Try again.', retryAfter) }
const COMMON = {
  ...refusedTokens('No token of the whole organization.'),
  '403': problem('The token lacks the scope `upload`, or `read` for what is only read.'),
  ...UNAVAILABLE,
}
const NONE = { '404': problem('There is no such tool or file.') }
const TOKEN = [{ bearer: [] }, { basic: [] }]
const indexOf = (name: string) => ({
  description: 'HTML (PEP 503) or, if it is asked for, JSON (PEP 691).',
  headers: { Vary: header('Accept') },
  content: {
    'text/html': { schema: { type: 'string' } },
    'application/vnd.pypi.simple.v1+html': { schema: { type: 'string' } },
    'application/vnd.pypi.simple.v1+json': { schema: schema(name) },
  },
})
const MOVED = {
  '301': {
    description: 'At the address with a slash at its end, and the name as PEP 503 has it.',
    headers: { Location: header('That address.') },
  },
}

const FILE = {
  description: 'Its bytes.',
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
}
const UPLOAD = {
  requestBody: {
    required: true,
    content: { 'multipart/form-data': { schema: schema('UploadRequest') } },
  },
  responses: {
    '200': json('It is there.', 'Upload'),
    '400': problem('The form cannot be read.'),
    ...COMMON,
    '403': problem(
      'The token lacks the scope `upload`, or is not of the internal organization, which alone ' +
        'uploads public tools.',
    ),
    '404': problem('The public repository is not provisioned.'),
    '409': problem('There is another file of that name.'),
    '413': problem('The file is larger than 64 MiB.'),
    '415': problem('Not multipart/form-data.'),
    '422': problem('The package is not valid; details.problems has each problem.'),
    '503': problem('Too many uploads are in progress, or the database is unavailable.', retryAfter),
  },
}
const BAD_BODY = {
  '400': problem('The body is not JSON.'),
  '413': problem('The body is larger than 4 KiB.'),
  '415': problem('Not application/json.'),
  '422': problem('The body is not valid.'),
}

type ScopeName = 'public' | 'organization'

const idOf = (verb: string, scope: ScopeName): string =>
  `${verb}${scope === 'public' ? 'Public' : 'Organization'}`

/**
 * The paths of an index that are read: by everybody, or by whoever has a token of the organization.
 */
function readPaths(scope: ScopeName) {
  const path = `/tools/${scope}`
  const isPublic = scope === 'public'
  const get = (verb: string, summary: string, responses: Record<string, unknown>) => ({
    operationId: idOf(verb, scope),
    tags: ['Tools'],
    summary,
    security: isPublic ? [] : TOKEN,
    responses: { ...responses, ...(isPublic ? UNAVAILABLE : COMMON) },
  })
  return {
    [`${path}/simple`]: { get: get('findTools', 'The names of all tools', MOVED) },
    [`${path}/simple/`]: {
      get: get('listTools', 'The names of all tools', {
        '200': indexOf('SimpleNames'),
        ...(isPublic ? NONE : {}),
      }),
    },
    [`${path}/simple/{name}`]: {
      parameters: [name],
      get: get('findTool', 'The files of a tool', MOVED),
    },
    [`${path}/simple/{name}/`]: {
      parameters: [name],
      get: get('listFiles', 'The files of a tool', {
        '200': indexOf('SimpleFiles'),
        ...MOVED,
        ...NONE,
      }),
    },
    [`${path}/files/{filename}`]: {
      parameters: [filename],
      get: get('download', 'A file', { '200': FILE, ...NONE }),
    },
  }
}

/** The files of the public index behind that of an organization. */
const UPSTREAM_PATHS = {
  '/tools/organization/upstream/{name}/{sha256}/{filename}': {
    parameters: [name, sha256, filename],
    get: {
      operationId: 'downloadUpstream',
      tags: ['Tools'],
      summary: 'A file of the public index, as a page of a tool names it',
      security: TOKEN,
      responses: {
        '200': FILE,
        ...COMMON,
        ...NONE,
        '502': problem('The public index cannot be used.'),
      },
    },
  },
}

/** The paths of an index that are written, with a token of the organization that owns it. */
function writePaths(scope: ScopeName) {
  const path = `/tools/${scope}`
  const write = (verb: string, summary: string, rest: Record<string, unknown>) => ({
    operationId: idOf(verb, scope),
    tags: ['Tools'],
    summary,
    security: TOKEN,
    ...rest,
  })
  const done = {
    '204': { description: 'It is done.' },
    ...COMMON,
    ...NONE,
    '403': UPLOAD.responses['403'],
  }
  return {
    [path]: { post: write('upload', 'Upload a package, as twine does', UPLOAD) },
    [`${path}/`]: { post: write('uploadTo', 'Upload a package, as twine does', UPLOAD) },
    [`${path}/files/{filename}/yanked`]: {
      parameters: [filename],
      put: write('yank', 'Yank a file (PEP 592)', {
        requestBody: body('YankRequest', { reason: 'broken on Python 3.13' }),
        responses: { ...done, ...BAD_BODY },
      }),
      delete: write('unyank', 'Take a yank back', { responses: done }),
    },
  }
}

/** The paths of both tools indexes (SPEC 2.3). */
export const TOOL_PATHS = {
  ...readPaths('public'),
  ...writePaths('public'),
  ...readPaths('organization'),
  ...writePaths('organization'),
  ...UPSTREAM_PATHS,
}
