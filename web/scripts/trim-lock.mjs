// npm copies funding and deprecation notes, addresses included, into the lock file. Nothing reads them: drop them.
import { readFileSync, writeFileSync } from 'node:fs'

const path = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(path, 'utf8'))
for (const entry of Object.values(lock.packages)) {
  delete entry.funding
  delete entry.deprecated
  delete entry.resolved
}
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
