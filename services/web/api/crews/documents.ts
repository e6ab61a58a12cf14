import { AUTOMATION_STATUSES } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { AutomationLife } from '../../../platform/crews/automation-life.ts'
import { CREW_STATES } from '../../../platform/crews/crew-deployments.ts'
import type { ListedDeployment } from '../../../platform/crews/crew-deployments.ts'
import { toSettingsFields } from '../../../platform/crews/crew-settings-fields.ts'
import { CREW_WAYS } from '../../../platform/crews/crew-settings.ts'
import type { CrewSettings } from '../../../platform/crews/crew-settings.ts'
import type { SourceRepository } from '../../../platform/crews/source-repositories.ts'
import type { CrewVariable } from '../../../platform/crews/crew-variables.ts'
import { ownCrewFields } from '../../nouns/own-crews.ts'
import * as s from '../openapi/parts.ts'
import { schemasOfFields } from '../openapi/resource-schemas.ts'

/** A repository as the API shows it: without its secrets. */
export const repositoryDocument = s.document(
  'CrewRepository',
  {
    url: s.text,
    ref: s.say(s.text, 'A branch, a tag or a whole commit.'),
    directory: s.say(s.perhapsText, 'Of the project. Null: the whole repository.'),
    has_token: s.truth,
    has_webhook: s.truth,
    webhook_url: s.say(s.text, 'Where its server sends its pushes.'),
    last_commit: s.perhapsText,
    pulled_at: s.perhapsMoment,
    failure: s.say(s.perhapsText, 'Of the last pull, and what to do.'),
    failed_at: s.perhapsMoment,
    is_pulling: s.say(s.truth, 'A worker pulls it, or is to.'),
  },
  (shown: SourceRepository & { readonly webhookUrl: string }) => shown,
)

const sourceFields = {
  digest: s.say(s.text, 'SHA-256 of its files.'),
  name: s.text,
  size: s.say(s.integer, 'Of the archive, in bytes.'),
  files: s.integer,
  left_out: s.say(
    s.list(s.text),
    'The first files and folders of the archive that are no part of the source, such as .venv/.',
  ),
  left_out_more: s.say(s.integer, 'How many others were left out.'),
  git_ref: s.perhapsText,
  git_commit: s.perhapsText,
  is_kept: s.say(s.truth, 'False: it cannot be deployed again.'),
}
/** The fields of a deployment. */
export const deploymentFields = {
  number: s.say(s.integer, 'Counts the deployments of the automation.'),
  state: s.words(CREW_STATES),
  reason: s.say(s.perhapsText, 'Why it is in this state, and what to do.'),
  source: s.closed(sourceFields),
  way: s.nullable('string', { enum: [...CREW_WAYS, null] }),
  image: s.say(s.perhapsText, 'By its digest.'),
  rolled_back_from: s.say(s.nullable('integer'), 'Whose source and settings it took.'),
  created_at: s.moment,
  state_since: s.moment,
  online_at: s.say(s.perhapsMoment, 'When it was first online.'),
  ended_at: s.perhapsMoment,
}
/** A deployment as the API shows it. */
export const deploymentDocument = s.document(
  'Deployment',
  deploymentFields,
  (deployment: ListedDeployment) => ({
    ...deployment,
    source: s.pickOf(sourceFields)({ ...deployment.source, files: deployment.source.fileCount }),
    way: deployment.settings.way,
  }),
)

/** The schemas of the settings of a crew. */
export const settingsFields = schemasOfFields(ownCrewFields)

interface ShownCrew {
  readonly automation: Automation
  readonly life: AutomationLife
  /** undefined: it is designed. */
  readonly settings: CrewSettings | undefined
  readonly newest: ListedDeployment | undefined
}

const automationFields = {
  automation_id: s.uuid,
  name: s.text,
  slug: s.text,
  status: s.words(AUTOMATION_STATUSES),
}
/** An automation in a list. */
export const automationSummary = s.document(
  'AutomationSummary',
  automationFields,
  (automation: Automation) => automation,
)
/** An automation, as the API shows it. */
export const crewDocument = s.document(
  'Crew',
  {
    ...automationFields,
    status_reason: s.perhapsText,
    stopped_at: s.say(s.perhapsMoment, 'Since when a person keeps it offline.'),
    removing_since: s.perhapsMoment,
    settings: s.orNull(
      s.document('CrewSettings', settingsFields),
      'null for an automation that is designed, not made from a source.',
    ),
    newest_deployment: s.orNull(deploymentDocument),
  },
  ({ automation, life, settings, newest }: ShownCrew) => ({
    ...automation,
    ...life,
    settings: settings ? toSettingsFields(settings) : null,
    newestDeployment: newest ? deploymentDocument.of(newest) : null,
  }),
)

/** A variable as the API shows it: of a secret, no value. */
export const variableDocument = s.document(
  'CrewVariable',
  {
    name: s.text,
    secret: s.truth,
    value: s.say(s.perhapsText, 'Null for a secret, which is never shown.'),
    updated_at: s.moment,
  },
  (variable: CrewVariable) => ({ ...variable, secret: variable.value === null }),
)
