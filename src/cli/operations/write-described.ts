/** A program of the build: writes the description of all commands. */
import { writeFileSync } from 'node:fs';
import { Command, readVersion } from '../command.js';
import { addAllCommands } from '../commands.js';
import { DESCRIPTION } from '../program.js';
import { createTerminal } from '../terminal.js';
import { DESCRIBED_FILE, describe, printDescribed } from './described.js';

const { stdout, stderr } = process;
const version = readVersion();
const whole = new Command('zoneplane').description(DESCRIPTION);
await addAllCommands(whole, {
  terminal: createTerminal({ stdout, stderr, environment: {} }),
  environment: {},
  program: '',
  version,
  isTerminal: false,
  width: 80,
});
writeFileSync(DESCRIBED_FILE, printDescribed(version, describe(whole)));
// Some commands load code that would keep the process alive.
process.exit(0);
