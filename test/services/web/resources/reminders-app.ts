import { Hono } from 'hono'
import { createKnowledgeIntake } from '../../../../services/web/intake/knowledge/add-knowledge.ts'
import { createLog, requestLog } from '../../../../services/shared/log.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { createBadTokens } from '../../../../services/web/gate/callers/bad-tokens.ts'
import { createLimits } from '../../../../services/web/gate/callers/create-limits.ts'
import { createRights } from '../../../../services/web/gate/callers/rights.ts'
import { createSeenAdministrators } from '../../../../services/web/gate/callers/seen-administrators.ts'
import { createRunWatch } from '../../../../services/web/api/automation/run-watch.ts'
import { designerRoutes } from '../../../../services/web/api/designer/routes.ts'
import type { WebApp } from '../../../../services/web/context.ts'
import { webEnv } from '../../../../services/web/env.ts'
import { answerError } from '../../../../services/web/http/errors.ts'
import { resourceApi } from '../../../../services/web/resources/api-routes.ts'
import { createApis, openApiRoutes } from '../../../../services/web/api/openapi/routes.ts'
import { resourcePages } from '../../../../services/web/resources/page-routes.ts'
import { createTextWatch } from '../../../../services/web/run-texts/text-watch.ts'
import { environment } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'
import { createTable } from './reminder-verbs.ts'
import { reminders } from './reminders.ts'

/** A platform on which people set reminders, beside what all platforms have. */
export async function openReminders({ sql, url }: Platform): Promise<Hono<WebApp>> {
  await createTable(sql)
  const config = readEnv(webEnv, environment(url))
  const log = createLog({ name: 'web', level: 'silent' })
  const options = { config, sql, log, ping: async () => {}, isDraining: () => false }
  const app = new Hono<WebApp>()
  const deps = {
    ...options,
    rights: createRights(() => app),
    apis: createApis(options, () => app),
    seenAdministrators: createSeenAdministrators(),
    badTokens: createBadTokens(config.TRUSTED_PROXIES),
    ...createLimits(options),
    watch: createRunWatch(options),
    texts: createTextWatch(options),
    takeKnowledge: createKnowledgeIntake(),
    notices: new Map(),
  }
  app.use(requestLog(log))
  app.onError(answerError(deps))
  app.route('/', reminders.read(resourcePages(deps)))
  app.route('/designer/v2', reminders.read(resourceApi(deps)))
  app.route('/designer/v2', designerRoutes(deps))
  app.route('/', openApiRoutes(deps))
  return app
}
