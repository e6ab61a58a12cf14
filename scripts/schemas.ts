/**
 * `npm run schemas [-- DIRECTORY]`: writes the JSON Schemas of the crew contract and of the
 * diagnostic report, to `docs` or to another directory.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crewSchema } from './crew-schema.ts'
import { doctorSchema } from './doctor-schema.ts'

const directory = process.argv[2] ?? fileURLToPath(new URL('../docs/', import.meta.url))
const schemas = {
  'crew-contract.schema.json': crewSchema,
  'doctor-report.schema.json': doctorSchema,
}
for (const [name, schema] of Object.entries(schemas)) {
  writeFileSync(join(directory, name), `${JSON.stringify(schema, null, 2)}\n`)
}
