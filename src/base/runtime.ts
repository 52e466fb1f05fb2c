/** Which Node.js this program runs on. Imports nothing, so that it can be asked before anything native is loaded. */

/** The oldest Node.js that runs this program, as in `engines` of package.json: major, minor. */
const OLDEST: readonly [number, number] = [22, 19];

/** What to tell the user when `version` (such as `v20.11.1`) is too old; undefined when it is not. */
export function runtimeComplaint(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `zoneplane needs Node.js ${oldestMajor}.${oldestMinor} or later, and this is ${version}: install Node.js 24, or use npm start in a clone, which brings its own.`;
}
