/** Checks the Node.js version. Imports nothing, so that it runs before any native module is loaded. */

/** The oldest supported Node.js: major, minor; the same as `engines` in package.json. */
const OLDEST: readonly [number, number] = [22, 19];

/** The message for the user when `version` (such as `v20.11.1`) is too old; undefined when it is not. */
export function runtimeComplaint(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `zoneplane needs Node.js ${oldestMajor}.${oldestMinor} or later, but this is ${version}: install Node.js 24, or use npm start in a clone, which brings its own.`;
}
