import { html } from 'hono/html'
import type { KnowledgeText } from '../../../platform/definitions/knowledge-texts.ts'
import type { Version } from '../../../platform/projects/project-versions.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { DOCUMENTS } from '../../../shared/documents/document-types.ts'
import { count, plural } from '../frame/format.ts'
import { csrfField, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { versionPath } from './own-project.ts'

const ACTIONS = ['unseen', 'Actions'] as const

interface KnowledgeView {
  readonly session: Session
  readonly project: Project
  readonly version: Version
}

/** The texts and skills of a version; to a draft, files can be added. */
export function knowledgeSection(view: KnowledgeView): Html | string {
  const { project, version } = view
  const isDraft = version.publishedAt === null
  const entries = Object.entries(version.definition.knowledge ?? {})
  if (project.fromSource || (!isDraft && entries.length === 0)) return ''
  return html`<section class="card" aria-labelledby="knowledge">
    <div class="card-head"><h2 id="knowledge">Knowledge</h2></div>
    ${
      entries.length === 0
        ? html`<p class="hint">Agents know nothing but their tasks and inputs.</p>`
        : listTable(
            'Knowledge',
            ['Name', 'What it is', 'Length', 'Agents', ...(isDraft ? [ACTIONS] : [])],
            entries.map(([name, entry]) => row(view, name, entry)),
          )
    }
    ${isDraft ? uploadForm(view) : ''}
  </section>`
}

function row(view: KnowledgeView, name: string, entry: KnowledgeText): Html {
  const { project, version, session } = view
  const { agents } = version.definition
  const knowing = agents.filter((agent) => agent.knowledge?.includes(name)).map(({ key }) => key)
  const files = Object.keys(entry.files ?? {}).length
  const what = entry.description === undefined ? 'Text' : 'Skill'
  const path = `${versionPath(project, version.number)}/knowledge/remove`
  return html`<tr>
    <td class="mono">${name}</td>
    <td>${what}${files > 0 ? ` with ${plural(files, 'file')}` : ''}</td>
    <td>${count(entry.text.length)} characters${entry.extent ? ` of ${entry.extent}` : ''}</td>
    <td>${knowing.length === 0 ? 'none' : knowing.join(', ')}</td>
    ${
      version.publishedAt === null
        ? html`<td>
            <form method="post" action="${path}">
              ${csrfField(session.csrfToken)}
              <button class="button" name="name" value="${name}" aria-label="Remove ${name}">
                Remove
              </button>
            </form>
          </td>`
        : ''
    }
  </tr>`
}

const uploadForm = ({ session, project, version }: KnowledgeView): Html =>
  html`<form
    method="post"
    action="${versionPath(project, version.number)}/knowledge"
    enctype="multipart/form-data"
    class="stack"
  >
    ${csrfField(session.csrfToken)}
    <label
      >File
      <input type="file" name="file" required aria-describedby="knowledge-hint" />
    </label>
    <p class="hint" id="knowledge-hint">
      Text in UTF-8, ${DOCUMENTS} of up to 20 MiB, or a ZIP archive of skills, each a folder with a
      SKILL.md. Scans have no text. A file with the name of another one takes its place. Save what
      you have changed in the editor first.
    </p>
    <fieldset class="ticks">
      <legend>Agents that know it</legend>
      ${version.definition.agents.map(
        ({ key }) =>
          html`<label class="check"
            ><input type="checkbox" name="agent" value="${key}" checked /> ${key}</label
          >`,
      )}
    </fieldset>
    <div><button class="button">Add the file</button></div>
  </form>`
