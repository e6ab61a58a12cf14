import {
  body,
  idempotencyKey,
  json,
  location,
  paging,
  parameter,
  problem,
  refusedTokens,
  retryAfter,
} from './parts.ts'

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem('A role in the organization, or a scope of the token, that does not allow this.'),
  '503': problem('The database is unavailable. Try again.', retryAfter),
}
const NONE = { '404': problem('The organization has no such project, version or run.') }
const BAD_BODY = {
  '400': problem('The body is not JSON.'),
  '413': problem('The body is larger than 256 KiB, a version than 4 MiB.'),
  '415': problem('Not application/json.'),
  '422': problem('The body is not valid; details.problems has each place.'),
}
const BAD_PAGE = { '400': problem('limit or cursor is not valid.') }
const created = location('Where it is.')
/** Everything but reading. */
const WRITES = {
  ...COMMON,
  '403': problem(
    'A role in the organization, or a scope of the token, that does not allow this; or a session ' +
      'without its `X-CSRF-Token`.',
  ),
}

const number = (name: string) =>
  parameter(name, 'path', { schema: { type: 'integer', minimum: 1, maximum: 2_147_483_647 } })
const project = number('project_id')
const version = number('number')

const operation = (operationId: string, summary: string, rest: Record<string, unknown>) => ({
  operationId,
  tags: ['Designer'],
  summary,
  ...rest,
})
const lists = (operationId: string, summary: string, name: string) =>
  operation(operationId, summary, {
    parameters: paging,
    responses: { '200': json('A page.', name), ...BAD_PAGE, ...COMMON, ...NONE },
  })
const reads = (operationId: string, summary: string, name: string) =>
  operation(operationId, summary, {
    responses: { '200': json('It.', name), ...COMMON, ...NONE },
  })

const DEFINITION = {
  name: 'Newsletter',
  llm: { model: 'gpt-5.4-mini' },
  agents: [{ key: 'editor', role: 'Editor', goal: 'Write about {topic}' }],
  tasks: [
    {
      key: 'write',
      agent: 'editor',
      description: 'Write a newsletter about {topic}.',
      expected_output: '200 words',
    },
  ],
}

const flag = (name: string, description: string) =>
  parameter(name, 'query', { description, schema: { type: 'boolean', default: false } })
const binary = { schema: { type: 'string', format: 'binary' } }
const PROJECT_BODY = {
  required: true,
  content: {
    ...body('ImportRequest', { files: { 'crew.jsonc': '{…}' } }).content,
    'application/zip': binary,
    'multipart/form-data': {
      // Under any name; this one is for generators of clients.
      schema: { type: 'object', properties: { files: { type: 'array', items: binary.schema } } },
    },
  },
}

/** The paths of the designer (SPEC 9). */
export const DESIGNER_PATHS = {
  '/designer/v2/projects': {
    get: lists('listProjects', 'The projects of the organization', 'ProjectList'),
    post: operation('createProject', 'Create a project', {
      requestBody: body('ProjectRequest', { name: 'Newsletter' }),
      responses: {
        '201': json('It is created.', 'Project', created),
        ...WRITES,
        ...BAD_BODY,
        '409': problem('There is a project of that name.'),
      },
    }),
  },
  '/designer/v2/projects/{project_id}': {
    parameters: [project],
    get: reads('getProject', 'A project', 'Project'),
  },
  '/designer/v2/projects/{project_id}/versions': {
    parameters: [project],
    get: lists('listVersions', 'The versions of a project, newest first', 'VersionList'),
    post: operation('createVersion', 'Add a draft', {
      requestBody: body('VersionRequest', { definition: DEFINITION }),
      responses: {
        '201': json('It is added.', 'Version', created),
        ...WRITES,
        ...NONE,
        ...BAD_BODY,
      },
    }),
  },
  '/designer/v2/projects/{project_id}/imports': {
    parameters: [project],
    post: operation('importProject', 'Add a draft that is made of a CrewAI project', {
      parameters: [
        flag('dry_run', 'Only say what would become of it.'),
        flag('leave_out', 'Import it without what has no equivalent.'),
      ],
      requestBody: PROJECT_BODY,
      responses: {
        '200': json('What would become of it, with dry_run.', 'ImportPreview'),
        '201': json('It is added.', 'ImportedVersion', created),
        ...WRITES,
        ...NONE,
        '400': problem('The files cannot be read.'),
        '413': problem('The project has more than 2 MiB or 1000 files.'),
        '415': problem('Not one of these media types.'),
        '422': problem('The project cannot be imported; details.problems has each place.'),
      },
    }),
  },
  '/designer/v2/projects/{project_id}/versions/{number}/knowledge': {
    parameters: [project, version],
    post: operation(
      'addKnowledge',
      'Add a text, a document or skills to the knowledge of a draft',
      {
        description:
          'Text in UTF-8, PDF, DOCX, XLSX, PPTX, ODT, ODS and ODP of up to 20 MiB, or a ZIP ' +
          'archive ' +
          'of skills, each a folder with a SKILL.md. It takes the place of what has the same name.',
        parameters: [
          parameter('name', 'query', {
            description: 'The name of the file: its knowledge is named after it.',
            required: true,
            schema: { type: 'string' },
          }),
          parameter('agents', 'query', {
            description: 'The keys of the agents that know it, by commas; all without it.',
            schema: { type: 'string' },
          }),
        ],
        requestBody: { required: true, content: { 'application/octet-stream': binary } },
        responses: {
          '200': json('It is added.', 'AddedKnowledge'),
          ...WRITES,
          ...NONE,
          '400': problem('The file has no name, or is an archive that cannot be read.'),
          '409': problem('The version is published, or was changed meanwhile.'),
          '413': problem('The file has more than 20 MiB, or its archive unpacks to more.'),
          '422': problem('The file cannot be read as text, or the version has too much knowledge.'),
        },
      },
    ),
  },
  '/designer/v2/projects/{project_id}/versions/{number}': {
    parameters: [project, version],
    get: reads('getVersion', 'A version with its definition', 'Version'),
    put: operation('changeVersion', 'Change a draft', {
      requestBody: body('VersionRequest', { definition: DEFINITION }),
      responses: {
        '200': json('It is changed.', 'Version'),
        ...WRITES,
        ...NONE,
        ...BAD_BODY,
        '409': problem('It is published and cannot change.'),
      },
    }),
  },
  '/designer/v2/projects/{project_id}/versions/{number}/publish': {
    parameters: [project, version],
    post: operation('publishVersion', 'Publish a draft: its automations run it from then on', {
      parameters: [
        parameter('percent', 'query', {
          description: 'The share of the calls that it takes at first, of an automation that runs.',
          schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
        }),
      ],
      responses: {
        '200': json('It is published.', 'Version'),
        '202': json(
          'It waits for its gates: publish it again later.',
          'PublicationPending',
          retryAfter,
        ),
        ...WRITES,
        ...NONE,
        '400': problem('percent is not valid.'),
        '409': problem(
          'It is published already, was changed meanwhile, or a gate refuses it: details.gates.',
        ),
        '422': problem('Its tools cannot be used; details.problems has each one.'),
      },
    }),
  },
  '/designer/v2/projects/{project_id}/versions/{number}/publish/override': {
    parameters: [project, version],
    post: operation('publishInSpiteOfGates', 'Publish a draft in spite of its gates, as an admin', {
      requestBody: body('OverrideRequest', { reason: 'The cases are out of date.' }),
      responses: {
        '200': json('It is published.', 'Version'),
        ...WRITES,
        ...NONE,
        ...BAD_BODY,
        '409': problem('It is published already, or was changed meanwhile.'),
      },
    }),
  },
  '/designer/v2/projects/{project_id}/release': {
    parameters: [project],
    get: reads('getRelease', 'Which version the automations of a project run', 'Release'),
    put: operation('releaseVersion', 'Give a published version all calls, or a share of them', {
      requestBody: body('ReleaseRequest', { version: 7, percent: 10, sticky_input: 'customer' }),
      responses: {
        '200': json('It is what runs from the next call on.', 'Release'),
        ...WRITES,
        ...NONE,
        ...BAD_BODY,
        '409': problem('The version cannot run: a draft, a source, or it has all other calls.'),
      },
    }),
    delete: operation('endRelease', 'Take the share of a version back', {
      responses: { '204': { description: 'No version has a share.' }, ...WRITES, ...NONE },
    }),
  },
  '/designer/v2/projects/{project_id}/executions': {
    parameters: [project],
    get: lists('listProjectRuns', 'The runs of a project, newest first', 'RunList'),
    post: operation('runProject', 'Run the published version of a project', {
      parameters: [idempotencyKey],
      requestBody: body('KickoffRequest', { inputs: { topic: 'tides' } }),
      responses: {
        '202': json('The run is queued, durably.', 'Run', created),
        ...WRITES,
        ...NONE,
        ...BAD_BODY,
        '400': problem('The body is not JSON, or the Idempotency-Key is malformed.'),
        '409': problem('Nothing is published, or there is no Runner.'),
      },
    }),
  },
  '/designer/v2/executions': {
    get: lists('listRuns', 'The runs of the organization, newest first', 'RunList'),
  },
  '/designer/v2/executions/{kickoff_id}': {
    parameters: [parameter('kickoff_id', 'path')],
    get: reads('getRun', 'A run with its inputs and its output', 'Run'),
  },
}
