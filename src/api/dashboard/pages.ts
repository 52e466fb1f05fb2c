/** Where the dashboard has screens: the first parts of their paths. web/screens.ts has the screens. */
export const PAGES = [
  'sign-in',
  'overview',
  'zones',
  'templates',
  'live',
  'pools',
  'buckets',
  'servers',
  'alerts',
  'access',
  'profile',
] as const;

/** The name of the screen at a path, as its file in web/screens/ has it; for other paths the name of no file. */
export function screenAt(path: string): string {
  const [, page = '', of = '', tab = ''] = path.split('/');
  if (page === '') return 'overview';
  if (of === '') return page;
  if (page === 'zones') return tab === '' ? 'records' : tab;
  return page === 'buckets' ? 'bucket' : page;
}
