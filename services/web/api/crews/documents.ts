import type { AutomationLife } from '../../../platform/crews/automation-life.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { ListedDeployment } from '../../../platform/crews/crew-deployments.ts'
import { toSettingsFields } from '../../../platform/crews/crew-settings-fields.ts'
import type { CrewSettings } from '../../../platform/crews/crew-settings.ts'
import type { SourceRepository } from '../../../platform/crews/source-repositories.ts'
import type { CrewVariable } from '../../../platform/crews/crew-variables.ts'

/** Returns a repository as the API shows it: without its secrets. */
export const repositoryDocument = (repository: SourceRepository, webhookUrl: string) => ({
  url: repository.url,
  ref: repository.ref,
  directory: repository.directory,
  has_token: repository.hasToken,
  has_webhook: repository.hasWebhook,
  webhook_url: webhookUrl,
  last_commit: repository.lastCommit,
  pulled_at: repository.pulledAt,
  failure: repository.failure,
  failed_at: repository.failedAt,
  is_pulling: repository.isPulling,
})

interface ShownCrew {
  readonly automation: Automation
  readonly life: AutomationLife
  /** undefined: it is designed. */
  readonly settings: CrewSettings | undefined
  readonly newest: ListedDeployment | undefined
}

/** Returns an automation, as the API shows it. */
export const crewDocument = ({ automation, life, settings, newest }: ShownCrew) => ({
  automation_id: automation.automationId,
  name: automation.name,
  slug: automation.slug,
  status: automation.status,
  status_reason: automation.statusReason,
  stopped_at: life.stoppedAt,
  removing_since: life.removingSince,
  settings: settings ? toSettingsFields(settings) : null,
  newest_deployment: newest ? deploymentDocument(newest) : null,
})

/** Returns a deployment as the API shows it. */
export const deploymentDocument = ({ source, settings, ...deployment }: ListedDeployment) => ({
  number: deployment.number,
  state: deployment.state,
  reason: deployment.reason,
  source: {
    digest: source.digest,
    name: source.name,
    size: source.size,
    files: source.fileCount,
    left_out: source.leftOut,
    left_out_more: source.leftOutMore,
    git_ref: source.gitRef,
    git_commit: source.gitCommit,
    is_kept: source.isKept,
  },
  way: settings.way,
  image: deployment.image,
  rolled_back_from: deployment.rolledBackFrom,
  created_at: deployment.createdAt,
  state_since: deployment.stateSince,
  online_at: deployment.onlineAt,
  ended_at: deployment.endedAt,
})

/** Returns a variable as the API shows it: of a secret, no value. */
export const variableDocument = ({ name, value, updatedAt }: CrewVariable) => ({
  name,
  secret: value === null,
  value,
  updated_at: updatedAt,
})
