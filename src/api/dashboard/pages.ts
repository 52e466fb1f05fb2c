/** Where the dashboard has screens: the first parts of their paths. web/screens.ts has the screens. */
export const PAGES = ['sign-in', 'overview', 'zones', 'live', 'buckets', 'access'] as const;
