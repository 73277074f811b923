// How a heading becomes an anchor. GitHub has its rule, and the site follows it, so that one link leads to the same place in both.

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
