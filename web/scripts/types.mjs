// Makes src/lib/openapi.d.ts from the gateway's OpenAPI document; with --check, says whether it is current instead.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'

const target = new URL('../src/lib/openapi.d.ts', import.meta.url)
const environment = fileURLToPath(new URL('../../.venv/bin/python', import.meta.url))
const python = process.env.PYTHON ?? (existsSync(environment) ? environment : 'python3')

/** The document as the generator should see it. */
function simplified(value) {
  if (Array.isArray(value)) return value.map(simplified)
  if (typeof value !== 'object' || value === null) return value
  const { propertyNames, additionalProperties, ...schema } = value
  // The generator knows no propertyNames: without this, a mapping from sides would be one from any text.
  if (propertyNames?.enum && additionalProperties) {
    schema.properties = Object.fromEntries(propertyNames.enum.map((name) => [name, additionalProperties]))
  } else {
    Object.assign(schema, propertyNames && { propertyNames }, additionalProperties && { additionalProperties })
  }
  // A title of text only repeats the name; a property called so is a schema, and stays.
  if (typeof schema.title === 'string' && !('version' in schema)) delete schema.title
  return Object.fromEntries(Object.entries(schema).map(([name, each]) => [name, simplified(each)]))
}

const text = execFileSync(python, ['-m', 'agon.api.document'])
const digest = createHash('sha256').update(text).digest('hex')
const types = astToString(await openapiTS(simplified(JSON.parse(text.toString()))))
const made = `// Made by \`npm run types\` from the OpenAPI document with SHA-256 ${digest}. Do not edit.\n${types}`

if (!process.argv.includes('--check')) {
  writeFileSync(target, made)
} else if (!existsSync(target) || readFileSync(target, 'utf8') !== made) {
  console.error('src/lib/openapi.d.ts is not what the API says now: `npm run types` makes it anew.')
  process.exit(1)
}
