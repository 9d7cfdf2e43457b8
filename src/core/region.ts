// The names of regions, as they are compared: in capitals. One word among them stands for no place at all, and no
// lock opens to it.

/** What a supplier promises that promises no place: in small letters, so that it equals no region. */
export const NO_PLACE = 'global'

/** As regions are compared. */
export function foldRegion(region: string): string {
  return region.toUpperCase()
}

const NO_PLACE_FOLDED = foldRegion(NO_PLACE)

/** Whatever letters it is written in. */
export function isNoPlace(region: string): boolean {
  return foldRegion(region) === NO_PLACE_FOLDED
}
