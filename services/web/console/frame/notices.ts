const NOTICES = {
  'oauth-setting-saved-off':
    'The settings are saved. OAuth is off: tick “Accept access tokens” and save to turn it on.',
  'crew-restart': 'The crew is being restarted. Runs in progress are finished first.',
  'crew-stop': 'It is being stopped. Runs wait until it is started again.',
  'crew-start': 'It is being started.',
  'crew-saved':
    'The settings are saved. Processes and sleep apply at once, the others from the next ' +
    'deployment on.',
  'variable-set': 'The variable is set. It applies from the next deployment on.',
  'variable-deleted': 'The variable is deleted. The next deployment is without it.',
  'repository-saved': 'The repository is saved. Pull it to deploy its project.',
  'repository-pull': 'The repository is being pulled. The result appears here.',
  'repository-removed': 'The repository is removed with its secrets. What is deployed stays.',
  'repository-webhook-removed': 'The webhook is removed. Pushes are refused from now on.',
  'automation-removed': 'The automation is being deleted, with all that belongs to it.',
  'limit-saved': 'The limit is saved. It applies from the next run on.',
  'password-changed': 'Your password is changed, and your other sessions are signed out.',
  stopped: 'The run is stopped.',
  'tool-yanked': 'The file is yanked. Installers skip it, unless they ask for exactly its version.',
  'tool-unyanked': 'The file is no longer yanked. Installers may choose it.',
  'llm-connection-created': 'The connection is created. You can test it here.',
  'llm-connection-key-forgotten':
    'The connection is saved. Its key was removed, because it would have been sent to another ' +
    'address: enter it again.',
  'connection-created': 'The connection is created. You can test it here.',
  'connection-connected': 'The connection is connected. Tools can use it from now on.',
  'connection-saved': 'The connection is saved.',
  'connection-ended':
    'The connection is saved, and its token ended, because it would have gone elsewhere: ' +
    'connect it again.',
  'connection-revoked': 'The tokens are revoked at the provider and deleted here.',
  'connection-forgotten':
    'The tokens are deleted here. The provider has no way to revoke them: end the access in your ' +
    'account there.',
  'connection-not-revoked':
    'The tokens are deleted here, but the provider could not be told: end the access in your ' +
    'account there.',
  'connection-deleted': 'The connection is deleted.',
  'webhook-redelivered': 'The message is sent again, with the id that it had.',
  'webhook-none-failed': 'No message has failed.',
  'note-added': 'The note is added.',
  'note-deleted': 'The note is deleted.',
  'first-trace': 'This is the first trace of the list: there is none before it.',
  'last-trace': 'This is the last trace of the list: there is none after it.',
  'project-imported': 'The draft is stored. Publish it to run it.',
  'approval-decided': 'The decision is saved. The run continues.',
  'draft-added': 'The draft is added. Nothing runs it until you publish it.',
  'draft-saved': 'The draft is saved.',
  'draft-deleted': 'The draft is deleted.',
  'project-renamed': 'The project is renamed.',
  'project-duplicated': 'This is the copy. Its draft is the newest version of the other project.',
  'project-archived': 'The project is archived.',
  'project-unarchived': 'The project is no longer archived.',
  'project-deleted': 'The project is deleted.',
  'version-published':
    'The version is published. The automations of the project run it from the next run on.',
  'version-shared': 'The version is published. It takes the share of the calls that is said here.',
  'version-released': 'It is released. What takes the calls from now on is said here.',
  'release-ended': 'The share is taken back. One version takes all calls again.',
  'proposal-discarded': 'The proposal is discarded.',
  'organization-left': 'You have left the organization.',
  'session-ended': 'The session has ended.',
  joined: 'You are a member now.',
  'budget-run-resumed': 'The run is resumed.',
  'over-already': 'The run had already ended.',
} as const

const WARNINGS = {
  'platform-health-unavailable':
    'The health report exists on Kubernetes only, with PLATFORM_SELF_HOSTED=true. ' +
    'This installation has none.',
} as const

/** Returns the notice that a redirect names: one of our own texts, never one from the address. */
export const noticeOf = (key: string | undefined): string | undefined => textOf(NOTICES, key)

/** Returns the reason why a redirect leads here rather than to the address that was asked for. */
export const warningOf = (key: string | undefined): string | undefined => textOf(WARNINGS, key)

function textOf(texts: Readonly<Record<string, string>>, key = ''): string | undefined {
  return Object.hasOwn(texts, key) ? texts[key] : undefined
}
