import { AUTOMATION_STATUSES } from '../../../platform/automations/automations.ts'
import { CREW_STATES } from '../../../platform/crews/crew-deployments.ts'
import { LOG_STREAMS } from '../../../platform/crews/crew-logs.ts'
import { CREW_WAYS } from '../../../platform/crews/crew-settings.ts'
import { VARIABLE_NAME } from '../../../platform/crews/crew-variable-fields.ts'
import {
  body,
  closed,
  integer,
  json,
  list,
  location,
  moment,
  nullable,
  paging,
  parameter,
  perhapsMoment,
  problem,
  refusedTokens,
  retryAfter,
  schema,
  schemaOfBody,
  text,
  uuid,
} from './parts.ts'
import { againBody } from '../crews/deployment-routes.ts'
import { variableBody } from '../crews/variable-routes.ts'
import { ownCrewFields } from '../../nouns/own-crews.ts'
import { schemasOfFields } from './resource-schemas.ts'

const settings = schemasOfFields(ownCrewFields)

const deployment = {
  number: { ...integer, description: 'Counts the deployments of the automation.' },
  state: { ...text, enum: CREW_STATES },
  reason: nullable('string', { description: 'Why it is in this state, and what to do.' }),
  source: closed({
    digest: { ...text, description: 'SHA-256 of its files.' },
    name: text,
    size: { ...integer, description: 'Of the archive, in bytes.' },
    files: integer,
    left_out: {
      type: 'array',
      items: text,
      description:
        'The first files and folders of the archive that are no part of the source, such as ' +
        '.venv/.',
    },
    left_out_more: { ...integer, description: 'How many others were left out.' },
    git_ref: nullable('string'),
    git_commit: nullable('string'),
    is_kept: { type: 'boolean', description: 'False: it cannot be deployed again.' },
  }),
  way: nullable('string', { enum: [...CREW_WAYS, null] }),
  image: nullable('string', { description: 'By its digest.' }),
  rolled_back_from: nullable('integer', {
    description: 'The deployment whose source and settings it took.',
  }),
  created_at: moment,
  state_since: moment,
  online_at: { ...perhapsMoment, description: 'When it was first online.' },
  ended_at: perhapsMoment,
}

/** The schemas of automations that are made from sources. */
export const CREW_SCHEMAS = {
  CrewRequest: closed({ name: { ...text, minLength: 1, maxLength: 200 } }),
  Automations: closed({
    automations: list(
      closed({
        automation_id: uuid,
        name: text,
        slug: text,
        status: { ...text, enum: AUTOMATION_STATUSES },
      }),
    ),
    next_cursor: nullable('string', { description: 'null on the last page.' }),
  }),
  CrewSettings: closed(settings),
  CrewSettingsRequest: {
    type: 'object',
    additionalProperties: false,
    description: 'Fields that are left out stay as they are.',
    properties: settings,
  },
  Crew: closed({
    automation_id: uuid,
    name: text,
    slug: text,
    status: { ...text, enum: AUTOMATION_STATUSES },
    status_reason: nullable('string'),
    stopped_at: { ...perhapsMoment, description: 'Since when a person keeps it offline.' },
    removing_since: perhapsMoment,
    settings: {
      oneOf: [schema('CrewSettings'), { type: 'null' }],
      description: 'null for an automation that is designed, not made from a source.',
    },
    newest_deployment: { oneOf: [schema('Deployment'), { type: 'null' }] },
  }),
  Deployment: closed(deployment),
  NewDeployment: closed({ ...deployment, note: nullable('string') }),
  Deployments: closed({ deployments: list(schema('Deployment')) }),
  DeployAgainRequest: schemaOfBody(
    againBody,
    'Without a number, the newest source with the settings and variables of now.',
  ),
  CrewLog: closed({
    text,
    is_cut: { type: 'boolean', description: 'Its beginning is no longer kept.' },
    next: { ...integer, description: 'What to send as `from` to read on.' },
  }),
  CrewVariable: closed({
    name: text,
    secret: { type: 'boolean' },
    value: nullable('string', { description: 'Null for a secret, which is never shown.' }),
    updated_at: moment,
  }),
  CrewVariables: closed({ variables: list(schema('CrewVariable')) }),
  CrewVariableRequest: schemaOfBody(variableBody),
}

const COMMON = {
  ...refusedTokens('No token of the whole organization, and no session.'),
  '403': problem(
    'A role in the organization, or a scope of the token, that does not allow this; or a session ' +
      'without its `X-CSRF-Token`.',
  ),
  '503': problem('The database is unavailable, or too many sources are being sent.', retryAfter),
}
/** What each change may answer as well. */
export const WRITES = {
  ...COMMON,
  '409': problem('The automation is being deleted, or a name or a limit is taken.'),
}
/** The answer for an automation that is not there. */
export const NONE = {
  '404': problem('The organization has no such automation made from a source.'),
}
/** The answers to a body that is not as described. */
export const BAD_BODY = {
  '400': problem('The body is not JSON, or no archive.'),
  '413': problem('The body, or what is in the archive, is too large.'),
  '415': problem('Not one of these media types.'),
  '422': problem('The body is not valid, or the project cannot be run.'),
}
/** The parameter of the path. */
export const automation = parameter('automation_id', 'path')
const number = parameter('number', 'path', { schema: { ...integer, minimum: 1 } })
const variable = parameter('name', 'path', {
  schema: { ...text, pattern: VARIABLE_NAME.source },
})

/** Describes an operation on crews. */
export const operation = (operationId: string, summary: string, rest: Record<string, unknown>) => ({
  operationId,
  tags: ['Crews'],
  summary,
  ...rest,
})
/** Describes an operation that reads a document. */
export const reads = (operationId: string, summary: string, name: string) =>
  operation(operationId, summary, {
    responses: { '200': json('It.', name), ...COMMON, ...NONE },
  })
const acts = (operationId: string, summary: string) =>
  operation(operationId, summary, {
    responses: { '202': json('A worker does it.', 'Crew'), ...WRITES, ...NONE },
  })

const binary = { schema: { type: 'string', format: 'binary' } }
const SOURCE_BODY = {
  required: true,
  content: {
    'multipart/form-data': {
      schema: { type: 'object', required: ['source'], properties: { source: binary.schema } },
    },
    'application/zip': binary,
    'application/gzip': binary,
    ...body('DeployAgainRequest', { roll_back_to: 3 }).content,
  },
}

/** The path of an automation. */
export const PATH = '/designer/v2/automations/{automation_id}'

/** The paths of automations that are made from sources. */
export const CREW_PATHS = {
  '/designer/v2/automations': {
    get: operation('listAutomations', 'The automations of the organization, by name', {
      parameters: paging,
      responses: {
        '200': json('A page.', 'Automations'),
        '400': problem('limit or cursor is not valid.'),
        ...COMMON,
      },
    }),
    post: operation('createCrew', 'Create an automation that is to be made from a source', {
      requestBody: body('CrewRequest', { name: 'Research' }),
      responses: {
        '201': json('It is created, without a crew.', 'Crew', location('Where it is.')),
        ...WRITES,
        ...BAD_BODY,
      },
    }),
  },
  [PATH]: {
    parameters: [automation],
    get: reads('getCrew', 'An automation that is made from a source', 'Crew'),
    delete: acts('deleteCrew', 'Delete it with its crew, its runs and its sources'),
  },
  [`${PATH}/settings`]: {
    parameters: [automation],
    patch: operation('changeCrewSettings', 'Change the settings of a crew', {
      description:
        '`replicas` and `idle_minutes` hold at once, the others from the next deployment on.',
      requestBody: body('CrewSettingsRequest', { replicas: 2, memory_limit: '1Gi' }),
      responses: { '200': json('They are saved.', 'Crew'), ...WRITES, ...NONE, ...BAD_BODY },
    }),
  },
  [`${PATH}/restart`]: {
    parameters: [automation],
    post: acts('restartCrew', 'Have new processes take the places of the crew’s own'),
  },
  [`${PATH}/stop`]: {
    parameters: [automation],
    post: acts('stopCrew', 'Keep an automation offline until it is started; runs wait meanwhile'),
  },
  [`${PATH}/start`]: {
    parameters: [automation],
    post: acts('startCrew', 'Start an automation that was stopped'),
  },
  [`${PATH}/deployments`]: {
    parameters: [automation],
    get: operation('listDeployments', 'The deployments of an automation, newest first', {
      parameters: [
        parameter('before', 'query', {
          description: 'Only those with lower numbers.',
          schema: { ...integer, minimum: 1 },
        }),
      ],
      responses: {
        '200': json('At most 100.', 'Deployments'),
        '400': problem('before is not valid.'),
        ...COMMON,
        ...NONE,
      },
    }),
    post: operation('deploy', 'Deploy a source', {
      description:
        'An archive of a project, .zip or .tar.gz, of at most 64 MiB. As JSON: deploy the newest ' +
        'source again, or roll back. `note` says what a rule on regions cannot do for it.',
      requestBody: SOURCE_BODY,
      responses: {
        '201': json('A worker builds and starts it.', 'NewDeployment', location('Where it is.')),
        ...WRITES,
        ...NONE,
        ...BAD_BODY,
      },
    }),
  },
  [`${PATH}/deployments/{number}`]: {
    parameters: [automation, number],
    get: reads('getDeployment', 'A deployment, whose state says how far it is', 'Deployment'),
  },
  [`${PATH}/deployments/{number}/logs/{stream}`]: {
    parameters: [
      automation,
      number,
      parameter('stream', 'path', { schema: { ...text, enum: LOG_STREAMS } }),
    ],
    get: operation('readDeploymentLog', 'A log of a deployment', {
      parameters: [
        parameter('from', 'query', {
          description: 'The `next` of an earlier answer.',
          schema: { ...integer, minimum: 0, default: 0 },
        }),
      ],
      responses: {
        '200': json('What is kept of it.', 'CrewLog'),
        '400': problem('from is not valid.'),
        ...COMMON,
        ...NONE,
      },
    }),
  },
  [`${PATH}/variables`]: {
    parameters: [automation],
    get: reads('listVariables', 'The variables of the next deployment', 'CrewVariables'),
  },
  [`${PATH}/variables/{name}`]: {
    parameters: [automation, variable],
    put: operation('setVariable', 'Set a variable for the next deployment', {
      requestBody: body('CrewVariableRequest', { value: 'eu-north-1' }),
      responses: { '204': { description: 'It is set.' }, ...WRITES, ...NONE, ...BAD_BODY },
    }),
    delete: operation('deleteVariable', 'Delete a variable for the next deployment', {
      responses: { '204': { description: 'It is deleted.' }, ...WRITES, ...NONE },
    }),
  },
}
