/**
 * `npm run schemas [-- DIRECTORY]`: writes the JSON Schemas of the crew contract and of the
 * diagnostic report, to `docs` or to another directory.
 */
import './crew-schema.ts'
import './doctor-schema.ts'
