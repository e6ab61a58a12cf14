import type { Automation } from '../../../platform/automations/automations.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import { exampleInputs, inputsSchema } from '../../../platform/definitions/input-schema.ts'
import type { WebConfig } from '../../env.ts'
import { automationPath } from '../automation/automation-urls.ts'
import { requestSchemas } from '../automation/kickoff-request.ts'
import { describedBody } from './operation.ts'
import type { ApiDocument, Path } from './operation.ts'
import * as s from './parts.ts'

interface Described {
  /** The document of all APIs. */
  readonly whole: ApiDocument
  readonly config: Pick<WebConfig, 'PLATFORM_API_PREFIX'>
  readonly automation: Pick<Automation, 'name' | 'automationId'>
  readonly fields: readonly InputField[]
}

const ID = '{automation_id}'
/** These have descriptions of their own, in other forms. */
const PROTOCOLS = /^\/(mcp|a2a)(\/|$)/

/** Describes the API of one automation as OpenAPI 3.1, with the types of its inputs. */
export function describeAutomation({ whole, config, automation, fields }: Described) {
  const requests = requestSchemas(inputsSchema(fields))
  const base = automationPath(config, ID)
  const own = Object.entries(whole.paths)
    .filter(([path]) => path.startsWith(`${base}/`) && !PROTOCOLS.test(path.slice(base.length)))
    .map(([path, { parameters = [], ...operations }]): [string, Path] => [
      path.replace(ID, automation.automationId),
      { parameters: parameters.filter((each) => each.name !== 'automation_id'), ...operations },
    ])
  const paths = Object.fromEntries(own)
  const kickoff = `${automationPath(config, automation.automationId)}/kickoff`
  const request = s.named('KickoffRequest', requests.KickoffRequest)
  const { content } = describedBody(request, { example: { inputs: exampleInputs(fields) } })
  paths[kickoff] = {
    post: { ...paths[kickoff]?.['post'], requestBody: { required: true, content } },
  }
  const description = 'Start this automation and follow its runs. Errors are RFC 9457 problems.'
  return {
    ...whole,
    info: { ...whole.info, title: automation.name, description },
    tags: whole.tags.filter(({ name: tag }) => tag === 'Automations' || tag === 'Messages'),
    paths,
    components: {
      ...whole.components,
      schemas: { ...s.definitionsIn([paths, whole.webhooks]), ...requests },
    },
  }
}
