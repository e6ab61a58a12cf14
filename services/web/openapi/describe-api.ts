import type { WebConfig } from '../env.ts'
import { automationPaths } from './automation.ts'
import { BUDGET_PATHS, BUDGET_SCHEMAS } from './budgets.ts'
import { DESIGNER_PATHS } from './designer.ts'
import { json } from './parts.ts'
import { DESIGNER_SCHEMAS } from './designer-schemas.ts'
import { AUTOMATION_SCHEMAS, TOOL_SCHEMAS } from './schemas.ts'
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

/** Every API that callers may use, as OpenAPI 3.1. */
export function describeApi(config: Config) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Platform API',
      version: config.PLATFORM_VERSION,
      description:
        'Start automations, design crews, publish tool packages. Errors are RFC 9457 problems.',
    },
    servers: [{ url: config.PLATFORM_BASE_URL }],
    tags: [
      { name: 'Automations', description: 'Start a run, follow it, stop it.' },
      { name: 'Designer', description: 'Projects, their versions and their runs.' },
      { name: 'Budgets', description: 'Limits on what models cost, and what is used of them.' },
      { name: 'Tools', description: 'A Python package index for the tools of crews.' },
      { name: 'Health', description: 'For probes.' },
    ],
    security: [{ bearer: [] }],
    paths: {
      ...automationPaths(config),
      ...DESIGNER_PATHS,
      ...BUDGET_PATHS,
      ...TOOL_PATHS,
      ...HEALTH_PATHS,
    },
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
      schemas: {
        ...AUTOMATION_SCHEMAS,
        ...DESIGNER_SCHEMAS,
        ...BUDGET_SCHEMAS,
        ...TOOL_SCHEMAS,
      },
    },
  }
}
