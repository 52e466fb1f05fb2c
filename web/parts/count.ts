/**
 * A number as people read it: groups of three digits, at most one behind the point. Not by Intl.NumberFormat, for which the
 * browser loads data when the first screen is to be drawn.
 */
export function count(value: number): string {
  const [whole = '', fraction] = String(Math.round(Math.abs(value) * 10) / 10).split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  const sign = value < 0 ? '-' : '';
  return fraction === undefined ? sign + grouped : `${sign}${grouped}.${fraction}`;
}
