import { unlink } from 'node:fs/promises'
import { forbidden } from '../../../../support/kubernetes.ts'
import type { StoredObject } from '../../../../support/kubernetes.ts'
import type { Dependencies } from '../support/dependencies.ts'
import { LIST } from '../support/dependencies.ts'
import { httpServer } from '../support/faults.ts'
import { takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { runNamedTask } from './scene.ts'
import type { Case } from './scene.ts'

const RUNNER = '/apis/apps/v1/namespaces/crews/deployments/crew-runner'

/** An object of the cluster that is not as it should be, until somebody changes it back. */
const changed = (
  component: Case['component'],
  path: string,
  change: (object: StoredObject) => StoredObject | undefined,
): Case => ({
  component,
  stage(world) {
    const { objects } = world.kubernetes
    const well = objects.get(path) ?? { metadata: {} }
    const ill = change(well)
    if (ill) objects.set(path, ill)
    else objects.delete(path)
    return { broken: world.options(), follow: () => void objects.set(path, well) }
  },
})

/** The first Deployment of the list with another status. */
const withStatus =
  (status: object) =>
  (list: StoredObject): StoredObject => {
    const [first, ...others] = list['items'] as object[]
    return { ...list, items: [{ ...first, status }, ...others] }
  }

/** Deletes a record of the installation, which a task brings back. */
const deleted = (
  component: Case['component'],
  remove: (world: Dependencies) => Promise<unknown>,
): Case => ({
  component,
  async stage(world) {
    await remove(world)
    return {
      broken: world.options(),
      follow: (result) => runNamedTask(result, world.database.url),
    }
  },
})

/** What the cluster shows, and the crews that run in it. */
export const CLUSTER_CASES = {
  deployments_unready: changed('platform_pods', LIST, withStatus({ observedGeneration: 1 })),
  rollout_stuck: changed(
    'platform_pods',
    LIST,
    withStatus({
      observedGeneration: 1,
      replicas: 2,
      readyReplicas: 1,
      updatedReplicas: 1,
      conditions: [
        { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'x' },
      ],
    }),
  ),
  crew_pods_unready: changed('designer', RUNNER, () => undefined),
  rbac_forbidden: {
    component: 'platform_pods',
    stage({ kubernetes, options }) {
      const { intercept } = kubernetes
      kubernetes.intercept = (_, response) =>
        forbidden(response, { verb: 'list', resource: 'deployments' })
      return { broken: options(), follow: () => void (kubernetes.intercept = intercept) }
    },
  },
  no_service_account_token: {
    component: 'platform_pods',
    async stage({ kubernetes, options }) {
      await unlink(kubernetes.address.tokenFile)
      return { broken: options(), follow: () => kubernetes.setToken('mounted') }
    },
  },
  k8s_api_unreachable: {
    component: 'platform_pods',
    async stage({ kubernetes, options }) {
      const proxy = await httpServer((_, response) => response.destroy())
      const address = { ...kubernetes.address, url: proxy.url }
      return {
        broken: options({ diagnostics: { kubernetes: address } }),
        follow: () => options(),
        end: () => proxy.stop(),
      }
    },
  },
  tool_repository_missing: deleted('tools', ({ sql }) => sql`delete from tool_repositories`),
  agent_install_incomplete: deleted(
    'designer',
    ({ sql }) => sql`delete from deployments where slug = 'assistant'`,
  ),
  runner_install_incomplete: deleted(
    'designer',
    ({ sql }) => sql`delete from deployments where slug = 'runner'`,
  ),
  model_retires: {
    component: 'designer',
    async stage({ sql, options }) {
      const run = (model: string) => sql`
        with version as (
          insert into project_versions
            (project_id, organization_id, number, definition, published_at)
          select project_id, v.organization_id, (
              select max(number) + 1 from project_versions where project_id = v.project_id),
            jsonb_set(definition, '{llm,model}', to_jsonb(${model}::text)), now()
          from project_versions v join deployments d on d.project_version_id = v.id
          where d.slug = 'assistant' limit 1
          returning id)
        update deployments set project_version_id = version.id from version
        where slug = 'assistant'`
      await run('gpt-4')
      return { broken: options(), follow: async () => void (await run('gpt-5.4-mini')) }
    },
  },
  outside_of_regions: {
    component: 'designer',
    async stage({ sql, options }) {
      const allow = (regions: string) =>
        sql`update organizations set allowed_regions = ${regions}::text[] where internal`
      await allow('{eu}')
      return { broken: options(), follow: async () => void (await allow('{}')) }
    },
  },
  queue_stalled: {
    component: 'designer',
    async stage({ sql, options }) {
      await sql`
        insert into executions (deployment_id, inputs, queued_at, available_at)
        select id, '{}', now() - interval '10 minutes', now() - interval '10 minutes'
        from deployments limit 1`
      return { broken: options(), follow: async () => void (await takeRuns(sql, 10)) }
    },
  },
} satisfies Record<string, Case>
