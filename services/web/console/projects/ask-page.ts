import { html } from 'hono/html'
import { page as frame } from '../frame/layout.ts'
import type { Html } from '../frame/parts.ts'
import { assistantSection } from './assistant-section.ts'
import type { AssistantForm } from './assistant-section.ts'
import { projectPath } from './own-project.ts'

/** The form that asks the Assistant again, when it was refused. */
export const askPage = (form: AssistantForm): Html =>
  frame(
    { title: 'Ask the Assistant', session: form.session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/projects">Projects</a
        ><a href="${projectPath(form.project)}">${form.project.name}</a>
      </nav>
      <div class="page-head"><h1>Ask the Assistant</h1></div>
      ${assistantSection(form)}`,
  )
