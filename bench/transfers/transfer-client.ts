/**
 * Transfers the zone several times at once, in a process of its own: reading costs time that measurements must not see.
 * Arguments: port, transfers at once, milliseconds of rest after each piece. Prints the records of all.
 */
import { transferWhole } from './transfer-whole.js';

const [port, count, pauseMs] = process.argv.slice(2).map(Number) as [number, number, number];
const done = await Promise.all(Array.from({ length: count }, () => transferWhole(port, pauseMs)));
process.stdout.write(`${done.reduce((sum, { records }) => sum + records, 0)}\n`);
