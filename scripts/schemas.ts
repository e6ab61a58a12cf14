/**
 * `npm run schemas [-- DIRECTORY]`: writes the JSON Schemas of the crew contract and of the
 * diagnostic report, and the table of resources in `reference.md`, to `docs` or to another
 * directory.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crewSchema } from './crew-schema.ts'
import { doctorSchema } from './doctor-schema.ts'
import { withResourceTable } from './resource-table.ts'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const directory = process.argv[2] ?? docs
const schemas = {
  'crew-contract.schema.json': crewSchema,
  'doctor-report.schema.json': doctorSchema,
}
for (const [name, schema] of Object.entries(schemas)) {
  writeFileSync(join(directory, name), `${JSON.stringify(schema, null, 2)}\n`)
}
const reference = readFileSync(join(docs, 'reference.md'), 'utf8')
writeFileSync(join(directory, 'reference.md'), withResourceTable(reference))
