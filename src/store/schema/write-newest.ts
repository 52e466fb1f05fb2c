/** A program of the build: writes the schema of new databases. */
import { writeFileSync } from 'node:fs';
import { IN_MEMORY, openStore } from '../driver.js';
import { MIGRATIONS, takeSteps } from '../migrate.js';
import { NEWEST_SCHEMA_FILE, printSchema } from './newest.js';

const store = openStore(IN_MEMORY);
takeSteps(store);
writeFileSync(NEWEST_SCHEMA_FILE, printSchema(store, MIGRATIONS));
store.close();
