/**
 * A program of the build: writes the schema of new databases. First it removes compiled migrations without a source, such as one that
 * had another number before: the program takes all that are there.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { IN_MEMORY, openStore } from '../driver.js';

const source = new URL('../../../../src/store/migrations/', import.meta.url);
// An installed program has no source.
for (const name of existsSync(source) ? readdirSync(new URL('.', import.meta.url)) : []) {
  const [, base] = /^(\d.*)\.js(?:\.map)?$/.exec(name) ?? [];
  if (base !== undefined && !existsSync(new URL(`${base}.ts`, source))) rmSync(new URL(name, import.meta.url));
}
const [{ takeSteps }, { allMigrations }, { NEWEST_SCHEMA_FILE, printSchema }] = await Promise.all([
  import('../migrate.js'),
  import('./migration.js'),
  import('./newest.js'),
]);
const store = openStore(IN_MEMORY);
takeSteps(store);
writeFileSync(NEWEST_SCHEMA_FILE, printSchema(store, allMigrations()));
store.close();
