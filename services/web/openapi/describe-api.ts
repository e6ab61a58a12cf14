import type { Automation } from '../../platform/automations.ts'
import type { InputField } from '../../platform/crew-inputs.ts'
import { exampleInputs, inputsSchema } from '../../platform/input-schema.ts'
import type { WebConfig } from '../env.ts'
import { automationPaths } from './automation.ts'
import { DESIGNER_PATHS } from './designer.ts'
import { closed, json } from './parts.ts'
import { DESIGNER_SCHEMAS } from './designer-schemas.ts'
import { AUTOMATION_SCHEMAS, from_step, perhaps, TOOL_SCHEMAS } from './schemas.ts'
import { TOOL_PATHS } from './tools.ts'

type Config = Pick<WebConfig, 'PLATFORM_BASE_URL' | 'PLATFORM_API_PREFIX' | 'PLATFORM_VERSION'>

const HEALTH_PATHS = {
  '/health': {
    get: {
      operationId: 'health',
      tags: ['Health'],
      summary: 'Whether the service and its database answer, for load balancers',
      security: [],
      responses: {
        '200': json('They do.', 'Health'),
        '503': json('The database does not answer, or the service stops.', 'Health'),
      },
    },
  },
}

/** What differs between the documents: the paths, and their schemas. */
interface Content {
  readonly title: string
  readonly description: string
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Record<string, unknown>
  readonly schemas: Record<string, unknown>
}

const AUTOMATIONS = { name: 'Automations', description: 'Start a run, follow it, stop it.' }

/** Every API that callers may use, as OpenAPI 3.1. */
export function describeApi(config: Config) {
  return toDocument(config, {
    title: 'Platform API',
    description:
      'Start automations, design crews, publish tool packages. Errors are RFC 9457 problems.',
    tags: [
      AUTOMATIONS,
      { name: 'Designer', description: 'Projects, their versions and their runs.' },
      { name: 'Tools', description: 'A Python package index for the tools of crews.' },
      { name: 'Health', description: 'For probes.' },
    ],
    paths: { ...automationPaths(config), ...DESIGNER_PATHS, ...TOOL_PATHS, ...HEALTH_PATHS },
    schemas: { ...AUTOMATION_SCHEMAS, ...DESIGNER_SCHEMAS, ...TOOL_SCHEMAS },
  })
}

/** The API of one automation as OpenAPI 3.1, with the types of its inputs. */
export function describeAutomation(
  config: Config,
  { name, automationId: id }: Pick<Automation, 'name' | 'automationId'>,
  fields: readonly InputField[],
) {
  const inputs = inputsSchema(fields)
  return toDocument(config, {
    title: name,
    description: 'Start this automation and follow its runs. Errors are RFC 9457 problems.',
    tags: [AUTOMATIONS],
    paths: automationPaths(config, { id, inputs: exampleInputs(fields) }),
    schemas: {
      ...AUTOMATION_SCHEMAS,
      KickoffRequest: closed({ inputs }),
      ForkRequest: perhaps({ inputs, from_step }, ['inputs']),
    },
  })
}

const toDocument = (config: Config, { title, description, tags, paths, schemas }: Content) => ({
  openapi: '3.1.0',
  info: { title, version: config.PLATFORM_VERSION, description },
  servers: [{ url: config.PLATFORM_BASE_URL }],
  tags,
  security: [{ bearer: [] }],
  paths,
  components: {
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description:
          'A static token; for automations also an access token of the OAuth 2.0 client ' +
          'credentials grant. Designer and tools take a token of the whole organization.',
      },
    },
    schemas,
  },
})
