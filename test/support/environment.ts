/** What every process of a test has in its environment. */

const cache = process.env['NODE_COMPILE_CACHE'];

/** The path, and where what an earlier process has compiled is kept. */
export const ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
};
