import assert from 'node:assert/strict'
import { words } from '../bed/words.ts'
import { apply, kubectl, upgrade } from './cluster.ts'
import { isWell, query } from './platform.ts'
import { NAMESPACE } from './step.ts'
import type { Step } from './step.ts'

const SETTINGS = 'walk-settings'
const NAME = 'Walk gateway'

const settings = (documents: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: SETTINGS, namespace: NAMESPACE },
    data: { 'settings.yaml': documents },
  })

const connection = (name: string): string => `kind: llm_connection
name: ${name}
spec: { provider: openai, model: walk-model, api_key: { env: OPENAI_API_KEY } }
`

const configured = (): Promise<string> =>
  upgrade(
    NAMESPACE,
    words`--set configuration.existingConfigMap=${SETTINGS} --set configuration.prune=true
      --set configuration.secrets[0].name=model-key`,
  )

const main = (sql: string): Promise<string> => query(NAMESPACE, 'platform', sql)

const models = (): Promise<string> =>
  main(`select c.name, c.model, c.sealed_key is not null, m.managed_by
    from llm_connections c left join managed_resources m on m.resource_id = c.id::text
    where c.name like 'Walk%'`)

export const configuration: readonly Step[] = [
  {
    name: 'configuration',
    sentence:
      'an upgrade makes what documents say and changes back what a person changed; the next one ' +
      'deletes what no document has, and no token is left',
    async run() {
      await apply(settings(connection(NAME)))
      await configured()
      assert.equal(await models(), `${NAME}|walk-model|t|configuration`)
      await main(`update llm_connections set model = 'by-hand' where name = '${NAME}'`)
      await configured()
      assert.equal(await models(), `${NAME}|walk-model|t|configuration`)
      await apply(settings(connection('Walk gateway 2')))
      await configured()
      assert.equal(await models(), 'Walk gateway 2|walk-model|t|configuration')
      await main(`delete from llm_connections where name like 'Walk%'`)
      const left = `select count(*) from static_tokens
        where name = 'Configuration of the installation' and revoked_at is null`
      assert.equal(await main(left), '0')
      await upgrade(NAMESPACE)
      await kubectl(words`delete configmap ${SETTINGS} -n ${NAMESPACE}`)
      await isWell(NAMESPACE)
      return '3 upgrades'
    },
  },
]
