import type { WebConfig } from '../../env.ts'
import { cookieNames } from '../../gate/callers/cookies.ts'
import { NOUNS } from '../../nouns/list.ts'
import { describeResource } from './describe-resource.ts'
import { a2aPaths } from './a2a.ts'
import { automationPaths } from './automation.ts'
import { BATCH_SCHEMAS, withBatches } from './batches.ts'
import { BUDGET_PATHS, BUDGET_SCHEMAS } from './budgets.ts'
import { TRIGGER_PATHS, TRIGGER_SCHEMAS } from './triggers.ts'
import { CREW_PATHS, CREW_SCHEMAS } from './crews.ts'
import { LIMIT_PATHS, LIMIT_SCHEMAS } from './limits.ts'
import { mcpPaths } from './mcp.ts'
import { MANAGED_PATHS, MANAGED_SCHEMAS } from './managed.ts'
import { EVALUATION_PATHS, EVALUATION_SCHEMAS } from './evaluations.ts'
import { RECEIPT_PATHS, RECEIPT_SCHEMAS } from './receipts.ts'
import { MODEL_CALL_PATHS, MODEL_CALL_SCHEMAS } from './model-calls.ts'
import { REPLAY_PATHS, REPLAY_SCHEMAS } from './replays.ts'
import { REPOSITORY_PATHS, REPOSITORY_SCHEMAS } from './repositories.ts'
import { DESIGNER_PATHS } from './designer.ts'
import { designerSchemas } from './designer-schemas.ts'
import { AUTOMATION_SCHEMAS } from './schemas.ts'
import { PLATFORM_PATHS, PLATFORM_SCHEMAS } from './platform.ts'
import { TOOL_SCHEMAS } from './tool-schemas.ts'
import { TOOL_PATHS } from './tools.ts'
import { WEBHOOKS, WEBHOOK_SCHEMAS } from './webhooks.ts'
import { WORKLOAD_PATHS, WORKLOAD_SCHEMAS } from './workloads.ts'

type Config = Pick<WebConfig, 'PLATFORM_BASE_URL' | 'PLATFORM_API_PREFIX' | 'PLATFORM_VERSION'>

const TAGS = [
  { name: 'Automations', description: 'Start a run, follow it, stop it.' },
  { name: 'Designer', description: 'Projects, their versions and their runs.' },
  { name: 'Budgets', description: 'Limits on what models cost, and what is used of them.' },
  { name: 'Crews', description: 'Automations that are made from sources.' },
  { name: 'Tools', description: 'A Python package index for the tools of crews.' },
  { name: 'Platform', description: 'For probes, and for clients that set themselves up.' },
  { name: 'Messages', description: 'What the platform sends to the receivers of webhooks.' },
]

/** Every API that callers may use, as OpenAPI 3.1. */
export function describeApi(config: Config) {
  const nouns = NOUNS.map((noun) => noun.read(describeResource))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Platform API',
      version: config.PLATFORM_VERSION,
      description:
        'Start automations, design crews, publish tool packages. Errors are RFC 9457 problems.',
    },
    servers: [{ url: config.PLATFORM_BASE_URL }],
    tags: [...TAGS, ...nouns.map(({ tag }) => tag)],
    security: [{ bearer: [] }],
    paths: {
      ...automationPaths(config),
      ...mcpPaths(config),
      ...a2aPaths(config),
      ...DESIGNER_PATHS,
      ...BUDGET_PATHS,
      ...TRIGGER_PATHS,
      ...WORKLOAD_PATHS,
      ...LIMIT_PATHS,
      ...MANAGED_PATHS,
      ...RECEIPT_PATHS,
      ...REPLAY_PATHS,
      ...MODEL_CALL_PATHS,
      ...EVALUATION_PATHS,
      ...CREW_PATHS,
      ...REPOSITORY_PATHS,
      ...TOOL_PATHS,
      ...PLATFORM_PATHS,
      ...withBatches(Object.assign({}, ...nouns.map(({ paths }) => paths))),
    },
    webhooks: WEBHOOKS,
    components: {
      securitySchemes: waysToCall(config),
      schemas: {
        ...AUTOMATION_SCHEMAS,
        ...designerSchemas(),
        ...BUDGET_SCHEMAS,
        ...TRIGGER_SCHEMAS,
        ...WORKLOAD_SCHEMAS,
        ...MODEL_CALL_SCHEMAS,
        ...LIMIT_SCHEMAS,
        ...MANAGED_SCHEMAS,
        ...RECEIPT_SCHEMAS,
        ...REPLAY_SCHEMAS,
        ...EVALUATION_SCHEMAS,
        ...BATCH_SCHEMAS,
        ...CREW_SCHEMAS,
        ...REPOSITORY_SCHEMAS,
        ...TOOL_SCHEMAS,
        ...PLATFORM_SCHEMAS,
        ...WEBHOOK_SCHEMAS,
        ...Object.assign({}, ...nouns.map(({ schemas }) => schemas)),
      },
    },
  }
}

const waysToCall = ({ PLATFORM_BASE_URL: baseUrl }: Config) => ({
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A static token; for automations also an access token of the OAuth 2.0 client ' +
      'credentials grant, or a token that a workload got at `/oauth/token`. Designer and tools ' +
      'take a token of the whole organization.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: cookieNames(baseUrl).session,
    description:
      'The session of a person. For anything but reading, its CSRF token is in the header ' +
      '`X-CSRF-Token`.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'The same token, as pip and twine send it: with the user `__token__`.',
  },
})
