import { html } from 'hono/html'
import { shellWord } from '../../../../shared/shell-word.ts'
import { copyable, emptyState } from '../parts.ts'
import type { Html } from '../parts.ts'

/** The content of an empty list of automations, which explains how to create the first one. */
export const noAutomations = (baseUrl: string): Html =>
  html`${emptyState(
      'automations',
      'No automations yet',
      html`An automation appears here when a project of your organization is published, or when you
        <a href="/new-automation">deploy a program of your own</a>.`,
    )}
    <div class="card-foot steps">
      <p>
        Create the first project with the Designer API. It takes a token of your organization, which
        an administrator issues with the task <code>tokens:create</code>.
      </p>
      ${copyable('Command that creates a project', createProject(baseUrl))}
      <p class="hint">
        Then add a version to the project and publish it:
        <code>POST …/projects/ID/versions</code> and
        <code>POST …/projects/ID/versions/1/publish</code>.
      </p>
    </div>`

const createProject = (baseUrl: string): string =>
  [
    `curl ${shellWord(`${baseUrl.replace(/\/$/, '')}/designer/v2/projects`)} \\`,
    '  -H "Authorization: Bearer $TOKEN" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"name":"Newsletter"}'`,
  ].join('\n')
