//! Detection of recursive functions.

/// A callee that represents any function.
pub(crate) const ANY: u32 = u32::MAX;

/// Returns, for each function, whether it is on a cycle of calls (Kosaraju's strongly connected components).
pub(crate) fn on_cycles(calls: &[Vec<u32>]) -> Vec<bool> {
    let n = calls.len();
    // Node `n` connects indirect calls to all functions.
    let mut forward: Vec<Vec<usize>> = vec![vec![]; n + 1];
    for (from, targets) in calls.iter().enumerate() {
        forward[from] = targets.iter().map(|&to| if to == ANY { n } else { to as usize }).collect();
    }
    forward[n] = (0..n).collect();
    let mut backward: Vec<Vec<usize>> = vec![vec![]; n + 1];
    for (from, targets) in forward.iter().enumerate() {
        targets.iter().for_each(|&to| backward[to].push(from));
    }
    let mut order = vec![];
    let mut seen = vec![false; n + 1];
    (0..=n).for_each(|root| visit(&forward, root, &mut seen, &mut order));
    let mut cyclic = vec![false; n + 1];
    let mut seen = vec![false; n + 1];
    for &root in order.iter().rev() {
        let mut component = vec![];
        visit(&backward, root, &mut seen, &mut component);
        let alone = component.len() < 2;
        component.iter().for_each(|&at| cyclic[at] = !alone || forward[at].contains(&at));
    }
    cyclic.truncate(n);
    cyclic
}

/// Appends the unvisited nodes that are reachable from `root`, in postorder.
fn visit(edges: &[Vec<usize>], root: usize, seen: &mut [bool], order: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[root], true) {
        return;
    }
    let mut stack = vec![(root, 0)];
    while let Some((at, next)) = stack.last_mut() {
        let Some(&to) = edges[*at].get(*next) else {
            order.push(*at);
            stack.pop();
            continue;
        };
        *next += 1;
        if !std::mem::replace(&mut seen[to], true) {
            stack.push((to, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_through_several_functions_and_indirect_calls() {
        assert!(on_cycles(&[]).is_empty());
        // 0 → 1 → 2 → 1, and 3 calls itself.
        let direct = [vec![1], vec![2], vec![1], vec![3]];
        assert_eq!(on_cycles(&direct), [false, true, true, true]);
        // 0 → 1 → anything, 2 calls nothing.
        assert_eq!(on_cycles(&[vec![1], vec![ANY], vec![]]), [true, true, false]);
    }
}
