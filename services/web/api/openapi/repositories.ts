import {
  REPOSITORY_DIRECTORY_MAX,
  REPOSITORY_REF,
  REPOSITORY_REF_MAX,
  REPOSITORY_TOKEN,
  REPOSITORY_TOKEN_MAX,
  REPOSITORY_URL_MAX,
} from '../../../platform/crews/source-repository-fields.ts'
import { automation, BAD_BODY, NONE, operation, PATH, reads, WRITES } from './crews.ts'
import { body, closed, json, nullable, perhapsMoment, text } from './parts.ts'

/** The schemas of the Git repositories that automations are made from. */
export const REPOSITORY_SCHEMAS = {
  CrewRepository: closed({
    url: text,
    ref: { ...text, description: 'A branch, a tag or a whole commit.' },
    directory: nullable('string', { description: 'Of the project. Null: the whole repository.' }),
    has_token: { type: 'boolean' },
    has_webhook: { type: 'boolean' },
    webhook_url: { ...text, description: 'Where its server sends its pushes.' },
    last_commit: nullable('string'),
    pulled_at: perhapsMoment,
    failure: nullable('string', { description: 'Of the last pull, and what to do.' }),
    failed_at: perhapsMoment,
    is_pulling: { type: 'boolean', description: 'A worker pulls it, or is to.' },
  }),
  CrewRepositoryRequest: {
    type: 'object',
    additionalProperties: false,
    required: ['url', 'ref'],
    properties: {
      url: { ...text, maxLength: REPOSITORY_URL_MAX },
      ref: { ...text, pattern: REPOSITORY_REF.source, maxLength: REPOSITORY_REF_MAX },
      directory: nullable('string', { maxLength: REPOSITORY_DIRECTORY_MAX }),
      token: nullable('string', {
        pattern: REPOSITORY_TOKEN.source,
        maxLength: REPOSITORY_TOKEN_MAX,
        description:
          'An access token, or name:token where the server asks for a name. Null: none. Left ' +
          'out: the one that is there, unless the host is another now.',
      }),
    },
  },
  CrewRepositoryWebhook: closed({
    url: text,
    secret: { ...text, description: 'Shown this once.' },
  }),
}

/** The paths of the Git repositories that automations are made from. */
export const REPOSITORY_PATHS = {
  [`${PATH}/repository`]: {
    parameters: [automation],
    get: reads('getRepository', 'The Git repository of an automation', 'CrewRepository'),
    put: operation('saveRepository', 'Save the Git repository that an automation is made from', {
      requestBody: body('CrewRepositoryRequest', {
        url: 'https://github.com/acme/crew.git',
        ref: 'main',
      }),
      responses: { '200': json('It is saved.', 'CrewRepository'), ...WRITES, ...NONE, ...BAD_BODY },
    }),
    delete: operation('removeRepository', 'Remove the repository with its secrets', {
      responses: { '204': { description: 'It is removed.' }, ...WRITES, ...NONE },
    }),
  },
  [`${PATH}/repository/pull`]: {
    parameters: [automation],
    post: operation('pullRepository', 'Pull the repository, and deploy what is new in it', {
      responses: { '202': json('A worker does it.', 'CrewRepository'), ...WRITES, ...NONE },
    }),
  },
  [`${PATH}/repository/webhook`]: {
    parameters: [automation],
    post: operation('createRepositoryWebhook', 'Give the webhook of a repository a new secret', {
      responses: {
        '201': json('The former secret signs no more.', 'CrewRepositoryWebhook'),
        ...WRITES,
        ...NONE,
      },
    }),
    delete: operation('removeRepositoryWebhook', 'Accept no more pushes', {
      responses: { '204': { description: 'It is removed.' }, ...WRITES, ...NONE },
    }),
  },
}
